import type { CheckedWriter, SharedFile } from '../disk/checked.js';
import { copyBytes } from '../disk/copy.js';
import { ByteReader, ByteWriter } from './codec/varint.js';

/**
 * The term dictionary: all terms of a segment in byte order, in blocks of 32. A block starts with
 * where its lists start, then for each term: bytes shared with the term before, bytes of its own,
 * and what there is to know of its lists (front coding: Witten, Moffat and Bell, "Managing
 * Gigabytes", section 4.1). The offsets of the blocks follow the blocks.
 *
 *     block   varint postings offset, varint positions offset, then per term
 *             varint shared, varint own, own bytes,
 *             varint documents, byte bound, varint postings length, varint positions length
 *     index   uint32 offset of each block
 */
const TERMS_PER_BLOCK = 32;
/** More than a word and its symbols have. */
const TERM_BYTES_MAX = 256;

/** A term's lists. Offsets and lengths are bytes in the files `postings` and `positions`. */
export interface TermEntry {
  readonly documents: number;
  /** The largest bound of the term's blocks, encoded. */
  readonly bound: number;
  readonly postingsAt: number;
  readonly postingsLength: number;
  readonly positionsAt: number;
  readonly positionsLength: number;
}

/** The entry of no term: it has no documents. */
export const NO_TERM: TermEntry = {
  documents: 0,
  bound: 0,
  postingsAt: 0,
  postingsLength: 0,
  positionsAt: 0,
  positionsLength: 0,
};

/** Compares two byte strings. */
export function compareBytes(
  a: Uint8Array,
  aStart: number,
  aEnd: number,
  b: Uint8Array,
  bStart: number,
  bEnd: number,
): number {
  const length = Math.min(aEnd - aStart, bEnd - bStart);
  for (let i = 0; i < length; i++) {
    const difference = (a[aStart + i] ?? 0) - (b[bStart + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return aEnd - aStart - (bEnd - bStart);
}

/** Writes terms in ascending order. */
export class TermsWriter {
  private readonly out = new ByteWriter(1 << 16);
  private readonly index: number[] = [];
  private readonly previous = new Uint8Array(TERM_BYTES_MAX);
  private previousLength = 0;
  count = 0;

  constructor(private readonly file: CheckedWriter) {}

  add(term: Uint8Array, entry: TermEntry): void {
    const { out } = this;
    if (this.count % TERMS_PER_BLOCK === 0) {
      this.flush();
      this.index.push(this.file.position);
      out.varint(entry.postingsAt);
      out.varint(entry.positionsAt);
      this.previousLength = 0;
    }
    let shared = 0;
    const most = Math.min(term.length, this.previousLength);
    while (shared < most && term[shared] === this.previous[shared]) shared++;
    out.varint(shared);
    out.varint(term.length - shared);
    out.append(term, shared);
    out.varint(entry.documents);
    out.byte(entry.bound);
    out.varint(entry.postingsLength);
    out.varint(entry.positionsLength);
    copyBytes(term, 0, term.length, this.previous, 0);
    this.previousLength = term.length;
    this.count++;
  }

  /** Ends the dictionary; returns where its index starts and how many blocks it has. */
  finish(): { readonly indexAt: number; readonly blocks: number; readonly terms: number } {
    this.flush();
    const padding = (4 - (this.file.position % 4)) % 4;
    this.file.append(new Uint8Array(padding));
    const indexAt = this.file.position;
    this.file.append(new Uint8Array(Uint32Array.from(this.index).buffer));
    return { indexAt, blocks: this.index.length, terms: this.count };
  }

  private flush(): void {
    this.file.append(this.out.view());
    this.out.clear();
  }
}

/** Reads one block of the dictionary, term by term. */
class BlockReader {
  term = new Uint8Array(TERM_BYTES_MAX);
  length = 0;
  private readonly reader: ByteReader;
  private postingsAt: number;
  private positionsAt: number;

  constructor(bytes: Uint8Array, at: number) {
    this.reader = new ByteReader(bytes, at);
    this.postingsAt = this.reader.varint();
    this.positionsAt = this.reader.varint();
  }

  /** Reads the next term's bytes. */
  nextTerm(): void {
    const shared = this.reader.varint();
    const own = this.reader.varint();
    this.length = shared + own;
    for (let i = shared; i < this.length; i++) this.term[i] = this.reader.byte();
  }

  /** Reads what follows the term's bytes. */
  nextEntry(): TermEntry {
    const documents = this.reader.varint();
    const bound = this.reader.byte();
    const postingsLength = this.reader.varint();
    const positionsLength = this.reader.varint();
    const { postingsAt, positionsAt } = this;
    this.postingsAt += postingsLength;
    this.positionsAt += positionsLength;
    return { documents, bound, postingsAt, postingsLength, positionsAt, positionsLength };
  }
}

/** Stands on one term after the other; before the first one until `next` is called. */
class TermsWalk {
  entry: TermEntry = NO_TERM;
  private current = new BlockReader(new Uint8Array(0), 0);
  private block = 0;
  private left = 0;

  constructor(
    private readonly blocks: number,
    private readonly open: (block: number) => { block: BlockReader; terms: number },
  ) {}

  /** Moves on; false after the last term. */
  next(): boolean {
    if (this.left === 0) {
      if (this.block === this.blocks) return false;
      const { block, terms } = this.open(this.block++);
      this.current = block;
      this.left = terms;
    }
    this.left--;
    this.current.nextTerm();
    this.entry = this.current.nextEntry();
    return true;
  }

  /** The term's bytes are the first `length` of these, until the next step. */
  get bytes(): Uint8Array {
    return this.current.term;
  }

  get length(): number {
    return this.current.length;
  }
}

/** Looks terms up, and walks all of them. */
export class TermsReader {
  constructor(
    private readonly file: SharedFile,
    private readonly shape: {
      readonly indexAt: number;
      readonly blocks: number;
      readonly terms: number;
    },
  ) {
    file.ensure(shape.indexAt, shape.indexAt + 4 * shape.blocks);
  }

  /** The term's entry, or undefined where no page holds it. */
  find(term: Uint8Array): TermEntry | undefined {
    let low = 0;
    let high = this.shape.blocks - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.compareFirst(middle, term) <= 0) low = middle;
      else high = middle - 1;
    }
    if (low > high) return undefined;
    const block = this.open(low);
    for (let i = this.termsIn(low); i > 0; i--) {
      block.nextTerm();
      const entry = block.nextEntry();
      const order = compareBytes(block.term, 0, block.length, term, 0, term.length);
      if (order === 0) return entry;
      if (order > 0) return undefined;
    }
    return undefined;
  }

  /** Walks all terms in order. */
  walk(): TermsWalk {
    this.file.ensureAll();
    return new TermsWalk(this.shape.blocks, (block) => ({
      block: this.open(block),
      terms: this.termsIn(block),
    }));
  }

  private termsIn(block: number): number {
    return Math.min(TERMS_PER_BLOCK, this.shape.terms - block * TERMS_PER_BLOCK);
  }

  private offsetOf(block: number): number {
    const { indexAt, blocks } = this.shape;
    if (block >= blocks) return indexAt;
    return (this.file.words[indexAt / 4 + block] ?? 0) >>> 0;
  }

  private open(block: number): BlockReader {
    const at = this.offsetOf(block);
    this.file.ensure(at, this.offsetOf(block + 1));
    return new BlockReader(this.file.bytes, at);
  }

  /** Compares a block's first term, which stands there whole, with another. */
  private compareFirst(block: number, term: Uint8Array): number {
    const at = this.offsetOf(block);
    this.file.ensure(at, this.offsetOf(block + 1));
    const { bytes } = this.file;
    const reader = new ByteReader(bytes, at);
    // The offsets of its lists and the bytes shared with the term before come first.
    reader.varint();
    reader.varint();
    reader.varint();
    const length = reader.varint();
    return compareBytes(bytes, reader.at, reader.at + length, term, 0, term.length);
  }
}
