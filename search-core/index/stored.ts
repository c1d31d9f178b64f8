import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { CheckedWriter, DamagedIndexError, type SharedFile } from '../disk/checked.js';
import type { Directory, InputFile } from '../disk/directory.js';
import type { Page } from '../page.js';
import { ByteReader, ByteWriter } from './codec/varint.js';

/**
 * What a page looks like to a reader: URL, title and text, compressed (DEFLATE, RFC 1951) in blocks
 * of at least 4 KiB: half as much again is saved beside single small pages, and a block takes some
 * 20 µs to unpack. Larger blocks save little more and cost every result.
 *
 *     file `text`   per block: uint32 CRC-32 of the rest, uint32 unpacked bytes, DEFLATE data
 *                   unpacked: per page three varints (bytes of URL, title, text); then the bytes
 *     file `pages`  per block: float64 offset, float64 first page; and one more for the end
 */
const BLOCK_BYTES = 4096;
/** Level 3 packs 1.1 times as large as level 6 and takes half the time. */
const LEVEL = 3;
const HEADER_BYTES = 8;

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

  add({ url, title, text }: Page): void {
    for (const part of [url, title, text]) {
      const bytes = Buffer.from(part);
      this.heads.varint(bytes.length);
      this.bodies.append(bytes);
    }
    this.inBlock++;
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

  private flush(): void {
    if (this.inBlock === 0) return;
    this.heads.append(this.bodies.view());
    const packed = deflateRawSync(this.heads.view(), { level: LEVEL });
    const block = Buffer.alloc(HEADER_BYTES + packed.length);
    block.writeUInt32LE(this.heads.length, 4);
    block.set(packed, HEADER_BYTES);
    block.writeUInt32LE(crc32(block.subarray(4)), 0);
    const pages = this.inBlock;
    this.inBlock = 0;
    this.heads.clear();
    this.bodies.clear();
    this.addBlock(block, pages);
  }
}

/** Reads stored pages; the texts stay on disk until one is asked for. */
export class StoredReader {
  private readonly offsets: Float64Array;
  private readonly blocks: number;
  private readonly file: InputFile;

  constructor(
    directory: Directory,
    private readonly segment: string,
    pages: SharedFile,
  ) {
    pages.ensureAll();
    this.blocks = pages.length / 16 - 1;
    this.offsets = new Float64Array(pages.handle.memory, 0, pages.length / 8);
    this.file = directory.open(`${segment}.text`);
  }

  /** Throws DamagedIndexError where the block does not have its checksum. */
  page(document: number): Page {
    const block = this.blockOf(document);
    return this.unpack(block)(document - this.firstOf(block));
  }

  /** The blocks in order: their pages, and the bytes as they are on disk. */
  *all(): Generator<{ first: number; end: number; packed: Uint8Array }> {
    for (let block = 0; block < this.blocks; block++) {
      const [first, end] = [this.firstOf(block), this.firstOf(block + 1)];
      yield { first, end, packed: this.packed(block) };
    }
  }

  /** Reads every block and compares its checksum. */
  verify(): void {
    for (let block = 0; block < this.blocks; block++) this.packed(block);
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
    if (packed.length < HEADER_BYTES || crc32(packed.subarray(4)) !== packed.readUInt32LE(0)) {
      throw new DamagedIndexError(`${this.segment}.text: block ${block} is damaged`);
    }
    return packed;
  }

  /** Unpacks a block; the function returned makes its n-th page. */
  private unpack(block: number): (n: number) => Page {
    const packed = this.packed(block);
    const bytes = inflateRawSync(packed.subarray(HEADER_BYTES), {
      maxOutputLength: Math.max(1, packed.readUInt32LE(4)),
    });
    const count = this.firstOf(block + 1) - this.firstOf(block);
    const reader = new ByteReader(bytes);
    const lengths = Array.from({ length: 3 * count }, () => reader.varint());
    const starts = [reader.at];
    for (const length of lengths) starts.push((starts.at(-1) ?? 0) + length);
    const part = (i: number): string => bytes.toString('utf8', starts[i], starts[i + 1]);
    return (n) => ({ url: part(3 * n), title: part(3 * n + 1), text: part(3 * n + 2) });
  }
}
