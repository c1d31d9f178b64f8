import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { CheckedWriter, DamagedIndexError, type SharedFile } from '../disk/checked.js';
import type { Directory, InputFile } from '../disk/directory.js';
import type { Page } from '../page.js';
import { ByteReader, ByteWriter } from './codec/varint.js';

/**
 * What a page looks like to a reader: URL, title and text, compressed (DEFLATE, RFC 1951).
 *
 * Pages are gathered in blocks of at least 4 KiB: larger ones save little more, and unpacking one
 * costs every result. The text of a long page is in parts (see `splitText`), packed one by one in a
 * block of its own, so that a passage can be made without unpacking all of it.
 *
 *     file `text`   blocks: uint32 CRC-32 of the head, uint32 bytes of the packed head,
 *                   packed head, packed parts
 *                   head: per page varint bytes of URL, title, text; then these bytes; and for a
 *                   long page (its text has 0 bytes here) varint number of parts, and per part
 *                   varint words, varint packed bytes, varint CRC-32
 *     file `pages`  per block: float64 offset, float64 first page; and one more for the end
 */
const BLOCK_BYTES = 4096;
/**
 * Level 3 packs 1.1 times as large as level 6 and takes half the time; 1 and 2 take as long. Most
 * blocks fit into a chunk, the memory that is allocated for each.
 */
const DEFLATE = { level: 3, chunkSize: 8192 };
const HEADER_BYTES = 8;

/** A part of a text and the words in it. */
export interface TextPart {
  readonly text: string;
  readonly words: number;
}

/** Writes pages in order. */
export class StoredWriter {
  private readonly text: CheckedWriter;
  private readonly pages: CheckedWriter;
  private readonly heads = new ByteWriter();
  private readonly bodies = new ByteWriter(4 * BLOCK_BYTES);
  private readonly index: number[] = [];
  private inBlock = 0;
  private count = 0;

  constructor(directory: Directory, segment: string) {
    this.text = new CheckedWriter(directory, `${segment}.text`);
    this.pages = new CheckedWriter(directory, `${segment}.pages`);
  }

  add(url: string, title: string, parts: readonly TextPart[]): void {
    const [first, ...more] = parts;
    if (more.length > 0) {
      this.addLong(url, title, parts);
      return;
    }
    this.addStrings(url, title, first?.text ?? '');
    if (this.bodies.length >= BLOCK_BYTES) this.flush();
  }

  /** Takes over a block of another file as it is. */
  addBlock(block: Uint8Array, pages: number): void {
    this.flush();
    this.index.push(this.text.position, this.count);
    this.text.append(block);
    this.count += pages;
  }

  finish(): void {
    this.flush();
    this.index.push(this.text.position, this.count);
    this.pages.append(new Uint8Array(Float64Array.from(this.index).buffer));
    this.text.finish();
    this.pages.finish();
  }

  private addStrings(...strings: readonly string[]): void {
    for (const string of strings) {
      this.heads.varint(this.bodies.utf8(string));
    }
    this.inBlock++;
  }

  private addLong(url: string, title: string, parts: readonly TextPart[]): void {
    this.flush();
    this.addStrings(url, title, '');
    const packed = parts.map(({ text }) => deflateRawSync(Buffer.from(text), DEFLATE));
    this.bodies.varint(parts.length);
    parts.forEach(({ words }, i) => {
      const bytes = packed[i] ?? Buffer.alloc(0);
      this.bodies.varint(words);
      this.bodies.varint(bytes.length);
      this.bodies.varint(crc32(bytes));
    });
    this.flush(packed);
  }

  private flush(parts: readonly Uint8Array[] = []): void {
    if (this.inBlock === 0) return;
    this.heads.append(this.bodies.view());
    const packed = deflateRawSync(this.heads.view(), DEFLATE);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(crc32(packed), 0);
    header.writeUInt32LE(packed.length, 4);
    const pages = this.inBlock;
    this.inBlock = 0;
    this.heads.clear();
    this.bodies.clear();
    this.addBlock(Buffer.concat([header, packed, ...parts]), pages);
  }
}

/** One stored page whose text was not looked at yet. */
interface Head {
  readonly url: string;
  readonly title: string;
  /** The text, or the parts that it is in. */
  readonly text: string | readonly PackedPart[];
}

interface PackedPart {
  readonly words: number;
  readonly start: number;
  readonly length: number;
  readonly sum: number;
}

/** Which parts of a long text are wanted, from the words that each has. */
export type PickParts = (words: readonly number[]) => {
  readonly from: number;
  readonly to: number;
};

const ALL_PARTS: PickParts = (words) => ({ from: 0, to: words.length });

/** Reads stored pages; the texts stay on disk until one is asked for. */
export class StoredReader {
  private readonly offsets: Float64Array;
  private readonly blocks: number;

  /** @param file the packed texts, open; closed with this */
  constructor(
    private readonly file: InputFile,
    private readonly segment: string,
    pages: SharedFile,
  ) {
    pages.ensureAll();
    this.blocks = pages.length / 16 - 1;
    this.offsets = new Float64Array(pages.handle.memory, 0, pages.length / 8);
  }

  /**
   * A page with the wanted parts of its text, which are all unless it is long.
   * @throws DamagedIndexError where a block does not have its checksum
   */
  page(document: number, pick: PickParts = ALL_PARTS): Page {
    const block = this.blockOf(document);
    const bytes = this.packed(block);
    const { url, title, text } = this.head(block, bytes, document - this.firstOf(block));
    if (typeof text === 'string') return { url, title, text };
    const { from, to } = pick(text.map(({ words }) => words));
    const wanted = text.slice(from, to).map((part) => this.unpackPart(block, bytes, part));
    return { url, title, text: wanted.join('').trim() };
  }

  /** The blocks in order: their pages, and the bytes as they are on disk. */
  *all(): Generator<{ first: number; end: number; packed: Uint8Array }> {
    for (let block = 0; block < this.blocks; block++) {
      const [first, end] = [this.firstOf(block), this.firstOf(block + 1)];
      yield { first, end, packed: this.packed(block) };
    }
  }

  /** The URLs of all documents, in order; reads each block once. */
  *urls(): Generator<string> {
    for (let block = 0; block < this.blocks; block++) {
      const { bytes, lengths, from } = this.unpackHead(block, this.packed(block));
      let at = from;
      for (const [field, size] of lengths.entries()) {
        if (field % 3 === 0) yield bytes.toString('utf8', at, at + size);
        at += size;
      }
    }
  }

  /** Reads every page and compares the checksums. */
  verify(): void {
    for (let document = 0; document < this.firstOf(this.blocks); document++) this.page(document);
  }

  close(): void {
    this.file.close();
  }

  private offsetOf(block: number): number {
    return this.offsets[2 * block] ?? 0;
  }

  private firstOf(block: number): number {
    return this.offsets[2 * block + 1] ?? 0;
  }

  private blockOf(document: number): number {
    let low = 0;
    let high = this.blocks - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.firstOf(middle) <= document) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private packed(block: number): Buffer {
    const start = this.offsetOf(block);
    const packed = Buffer.allocUnsafe(this.offsetOf(block + 1) - start);
    this.file.read(packed, start);
    return packed;
  }

  private damaged(block: number): DamagedIndexError {
    return new DamagedIndexError(`${this.segment}.text: block ${block} is damaged`);
  }

  /** Unpacks a block's head and reads the n-th page from it. */
  private head(block: number, packed: Buffer, n: number): Head {
    const { bytes, lengths, from, length } = this.unpackHead(block, packed);
    let at = from;
    for (const skipped of lengths.slice(0, 3 * n)) at += skipped;
    const [url = '', title = '', text = ''] = lengths
      .slice(3 * n, 3 * n + 3)
      .map((size) => bytes.toString('utf8', at, (at += size)));
    const isLong = HEADER_BYTES + length < packed.length;
    if (!isLong) return { url, title, text };
    return { url, title, text: partsOf(new ByteReader(bytes, at), HEADER_BYTES + length) };
  }

  private unpackHead(block: number, packed: Buffer): UnpackedHead {
    const length = packed.length < HEADER_BYTES ? 0 : packed.readUInt32LE(4);
    const data = packed.subarray(HEADER_BYTES, HEADER_BYTES + length);
    if (length === 0 || crc32(data) !== packed.readUInt32LE(0)) throw this.damaged(block);
    const bytes = inflateRawSync(data);
    const count = this.firstOf(block + 1) - this.firstOf(block);
    const reader = new ByteReader(bytes);
    const lengths = Array.from({ length: 3 * count }, () => reader.varint());
    return { bytes, lengths, from: reader.at, length };
  }

  private unpackPart(block: number, packed: Buffer, { start, length, sum }: PackedPart): string {
    const data = packed.subarray(start, start + length);
    if (crc32(data) !== sum) throw this.damaged(block);
    return inflateRawSync(data).toString('utf8');
  }
}

/** A block's head: URL, title and text (or the parts of a long one) of each page, end to end. */
interface UnpackedHead {
  readonly bytes: Buffer;
  /** Bytes of each field. */
  readonly lengths: readonly number[];
  /** Where the first field begins. */
  readonly from: number;
  /** Bytes of the head as it is packed. */
  readonly length: number;
}

function partsOf(reader: ByteReader, firstStart: number): PackedPart[] {
  let start = firstStart;
  return Array.from({ length: reader.varint() }, () => {
    const words = reader.varint();
    const length = reader.varint();
    const part = { words, start, length, sum: reader.varint() };
    start += length;
    return part;
  });
}
