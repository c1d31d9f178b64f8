import type { SharedFile } from '../../disk/checked.js';
import { BLOCK, unpack, unpackAscending } from '../codec/bitpack.js';
import { ByteReader } from '../codec/varint.js';
import { NO_TERM, type TermEntry } from '../terms.js';
import { align4, decodeBound, headerBytes, occurrences } from './layout.js';

/** After the last posting, a cursor stands here. */
export const END = 0x7fffffff;

/**
 * Walks one term's postings in document order, unpacking a block when something in it is asked
 * for, and its codes only when a document of it is scored. `documents`, `codes`, `at` and `size`
 * are open to the loops that score whole blocks.
 */
export class PostingsCursor {
  readonly documents = new Int32Array(BLOCK);
  readonly codes = new Int32Array(BLOCK);
  /** The posting of the block that the cursor stands on, and how many the block has. */
  at = 0;
  size = 0;
  /** The document that the cursor stands on; −1 before the first move, END after the last. */
  document = -1;
  /** Postings unpacked so far: what a search's budget is measured in. */
  read = 0;
  /** The block that is unpacked; −1 for none. Block `blocks` is the tail. */
  block = -1;
  /** Full blocks; the tail comes on top. */
  blocks = 0;
  entry: TermEntry = NO_TERM;
  private codesOf = -1;
  private tailSize = 0;
  private readonly words: Int32Array;
  /** Word indexes of the header's arrays; byte offsets of the bounds, the blocks and the tail. */
  private lasts = 0;
  private ends = 0;
  private positionStarts = 0;
  private bounds = 0;
  private data = 0;
  private tailStart = 0;

  constructor(private readonly file: SharedFile) {
    this.words = file.words;
  }

  /** Goes to before the first posting of a term. */
  open(entry: TermEntry): this {
    this.file.ensure(entry.postingsAt, entry.postingsAt + entry.postingsLength);
    this.entry = entry;
    this.document = this.block = this.codesOf = -1;
    this.at = this.size = 0;
    this.blocks = Math.floor(entry.documents / BLOCK);
    this.tailSize = entry.documents % BLOCK;
    this.data = this.tailStart = entry.postingsAt;
    if (this.blocks > 0) {
      const start = align4(entry.postingsAt);
      this.lasts = start >> 2;
      this.ends = this.lasts + this.blocks;
      this.positionStarts = this.ends + this.blocks;
      this.bounds = 4 * (this.positionStarts + this.blocks + 1);
      this.data = start + headerBytes(this.blocks);
      this.tailStart = this.data + (this.words[this.ends + this.blocks - 1] ?? 0);
    }
    return this;
  }

  /** Goes back to before the first posting of the term. */
  rewind(): void {
    this.document = -1;
    this.at = 0;
    if (this.block !== 0) this.block = this.codesOf = -1;
  }

  /** The last document of a block; the tail's is not known without reading it. */
  lastOf(block: number): number {
    return block < this.blocks ? (this.words[this.lasts + block] ?? 0) : END - 1;
  }

  /** The block that holds the first document from `target` on, at or after block `from`. */
  blockFor(target: number, from: number): number {
    const { words, lasts, blocks } = this;
    let low = from;
    let step = 1;
    while (low + step <= blocks && (words[lasts + low + step - 1] ?? 0) < target) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step - 1, blocks);
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((words[lasts + middle] ?? 0) < target) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first place in the loaded block whose document is `target` or later. */
  indexOf(target: number): number {
    const { documents } = this;
    let low = 0;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((documents[middle] ?? 0) < target) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The largest saturated weight in a block, for the averages that the segment was written with. */
  boundOf(block: number): number {
    return decodeBound(
      this.blocks > 0 ? (this.file.bytes[this.bounds + block] ?? 255) : this.entry.bound,
    );
  }

  /**
   * Writes where the documents `first` to `last` are in the loaded block to `places`, at their
   * number modulo its length, a power of two; returns the place after the last of them.
   */
  place(first: number, last: number, places: Uint8Array): number {
    const { documents } = this;
    const end = this.indexOf(last + 1);
    const mask = places.length - 1;
    for (let i = this.indexOf(first); i < end; i++) places[(documents[i] ?? 0) & mask] = i;
    return end;
  }

  /** Moves to the first document from `target` on; never back. */
  advance(target: number): number {
    if (this.document >= target) return this.document;
    if (this.block < 0 || target > (this.documents[this.size - 1] ?? 0)) {
      const next = this.blockFor(target, this.block < 0 ? 0 : this.block + 1);
      if (!this.load(next)) return (this.document = END);
    }
    const { documents, size } = this;
    let low = this.at;
    let step = 1;
    while (low + step < size && (documents[low + step] ?? 0) < target) {
      low += step;
      step *= 2;
    }
    let high = Math.min(low + step, size - 1);
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((documents[middle] ?? 0) < target) low = middle + 1;
      else high = middle;
    }
    this.at = low;
    const found = documents[low] ?? 0;
    return (this.document = found >= target ? found : END);
  }

  /** The code of the posting that the cursor stands on. */
  code(): number {
    if (this.codesOf !== this.block) this.loadCodes();
    return this.codes[this.at] ?? 0;
  }

  /** Unpacks a block's documents; false after the last block. */
  load(block: number): boolean {
    this.block = block;
    this.at = 0;
    if (block < this.blocks) {
      const base = block === 0 ? -1 : (this.words[this.lasts + block - 1] ?? 0);
      const word = this.wordOf(block);
      const bits = (this.words[word] ?? 0) & 0xff;
      unpackAscending(this.words, word + 1, bits, this.documents, base);
      this.size = BLOCK;
    } else {
      this.size = block === this.blocks ? this.tailSize : 0;
      if (this.size === 0) return false;
      this.loadTail();
    }
    this.read += this.size;
    return true;
  }

  /** Unpacks the codes of the block that is loaded. */
  loadCodes(): void {
    if (this.codesOf === this.block) return;
    this.codesOf = this.block;
    if (this.block >= this.blocks) return;
    const word = this.wordOf(this.block);
    const head = this.words[word] ?? 0;
    unpack(this.words, word + 1 + 4 * (head & 0xff), head >>> 8, this.codes);
  }

  /** Where the positions of the loaded block start, in bytes after the term's. */
  positionsStart(): number {
    return this.blocks > 0 ? (this.words[this.positionStarts + this.block] ?? 0) : 0;
  }

  /** Positions of the block's postings before the one that the cursor stands on, and of all. */
  positionsBefore(): number {
    this.loadCodes();
    let before = 0;
    for (let i = 0; i < this.at; i++) before += occurrences(this.codes[i] ?? 0);
    return before;
  }

  positionsInBlock(): number {
    let all = 0;
    for (let i = 0; i < this.size; i++) all += occurrences(this.codes[i] ?? 0);
    return all;
  }

  private wordOf(block: number): number {
    const offset = block === 0 ? 0 : (this.words[this.ends + block - 1] ?? 0);
    return (this.data + offset) >> 2;
  }

  private loadTail(): void {
    const reader = new ByteReader(this.file.bytes, this.tailStart);
    let document = this.blocks > 0 ? (this.words[this.lasts + this.blocks - 1] ?? 0) : -1;
    for (let i = 0; i < this.size; i++) {
      document += reader.varint() + 1;
      this.documents[i] = document;
      this.codes[i] = reader.varint();
    }
    this.codesOf = this.block;
  }
}
