import { BLOCK, bitsFor } from '../codec/bitpack.js';
import { WordWriter } from '../codec/word-writer.js';
import { encodeBound, headerBytes } from './layout.js';

/** The saturated weight of a posting: what it can add to a score, divided by the term's idf. */
type WeightOf = (document: number, code: number) => number;

/** Encodes one term after the other, each from its postings in ascending document order. */
export class TermEncoder {
  /** Both lists, once a term is finished; the next term overwrites them. */
  readonly postings = new WordWriter(1 << 16);
  readonly positions = new WordWriter(1 << 16);
  private readonly data = new WordWriter(1 << 16);
  private readonly documents = new Int32Array(BLOCK);
  private readonly codes = new Int32Array(BLOCK);
  private readonly gaps = new Int32Array(BLOCK);
  /** Of each full block, and of the tail: only the first `blocks` and one more count. */
  private readonly lastDocuments: number[] = [];
  private readonly ends: number[] = [];
  private readonly positionStarts: number[] = [];
  private readonly bounds: number[] = [];
  private blocks = 0;
  private pending = new Int32Array(1 << 12);
  private pendingCount = 0;
  private filled = 0;
  private previous = -1;

  constructor(private readonly weightOf: WeightOf) {}

  /** Starts a term whose positions will stand at `positionsBase` in their file. */
  start(positionsBase: number): void {
    this.positions.startAt(positionsBase);
    this.data.startAt(0);
    this.blocks = 0;
    this.pendingCount = 0;
    this.filled = 0;
    this.previous = -1;
  }

  /**
   * Adds a posting. Documents ascend; `positions[from … to)` ascend, as many as the code says.
   */
  add(document: number, code: number, positions: Int32Array, from: number, to: number): void {
    if (this.filled === BLOCK) this.flushBlock();
    this.documents[this.filled] = document;
    this.codes[this.filled] = code;
    this.filled++;
    const size = this.pendingCount + to - from;
    if (size > this.pending.length) {
      const grown = new Int32Array(2 * size);
      grown.set(this.pending.subarray(0, this.pendingCount));
      this.pending = grown;
    }
    const { pending } = this;
    let count = this.pendingCount;
    let previous = -1;
    for (let i = from; i < to; i++) {
      const position = positions[i] ?? 0;
      pending[count++] = position - previous - 1;
      previous = position;
    }
    this.pendingCount = count;
  }

  /**
   * Ends the term. `postingsBase` is where its postings will stand in their file. Returns how many
   * documents it has, and the largest of its bounds, encoded.
   */
  finish(postingsBase: number): { readonly documents: number; readonly bound: number } {
    if (this.filled === BLOCK) this.flushBlock();
    const { blocks, postings, filled } = this;
    this.flushPositions();
    postings.startAt(postingsBase);
    if (blocks > 0) this.writeBlocks();
    for (let i = 0; i < filled; i++) {
      const document = this.documents[i] ?? 0;
      postings.varint(document - this.previous - 1);
      postings.varint(this.codes[i] ?? 0);
      this.previous = document;
    }
    let bound = 0;
    for (let i = 0; i <= blocks; i++) bound = Math.max(bound, this.bounds[i] ?? 0);
    return { documents: blocks * BLOCK + filled, bound };
  }

  private writeBlocks(): void {
    const { blocks, postings } = this;
    postings.align4();
    const end = postings.length + headerBytes(blocks);
    postings.int32s(this.lastDocuments, blocks);
    postings.int32s(this.ends, blocks);
    postings.int32s(this.positionStarts, blocks + 1);
    for (let i = 0; i <= blocks; i++) postings.byte(this.bounds[i] ?? 0);
    while (postings.length < end) postings.byte(0);
    this.data.appendTo(postings);
  }

  private flushBlock(): void {
    this.flushPositions();
    for (let i = 0; i < BLOCK; i++) {
      const document = this.documents[i] ?? 0;
      this.gaps[i] = document - this.previous - 1;
      this.previous = document;
    }
    const gapBits = bitsFor(this.gaps);
    const codeBits = bitsFor(this.codes);
    this.data.int32(gapBits | (codeBits << 8));
    this.data.pack(this.gaps, 0, gapBits);
    this.data.pack(this.codes, 0, codeBits);
    this.lastDocuments[this.blocks] = this.previous;
    this.ends[this.blocks] = this.data.length;
    this.filled = 0;
    this.blocks++;
  }

  /**
   * Ends the positions of a block, or of the tail, and its bound: whole groups packed, the rest as
   * varints.
   */
  private flushPositions(): void {
    const { positions, pending, pendingCount } = this;
    this.positionStarts[this.blocks] = positions.written;
    this.bounds[this.blocks] = this.boundOfPending();
    const grouped = pendingCount - (pendingCount % BLOCK);
    if (grouped > 0) {
      for (let at = 0; at < grouped; at += BLOCK) positions.byte(bitsFor(pending, at));
      positions.align4();
      for (let at = 0; at < grouped; at += BLOCK) positions.pack(pending, at, bitsFor(pending, at));
    }
    for (let i = grouped; i < pendingCount; i++) positions.varint(pending[i] ?? 0);
    this.pendingCount = 0;
  }

  private boundOfPending(): number {
    let largest = 0;
    for (let i = 0; i < this.filled; i++) {
      const weight = this.weightOf(this.documents[i] ?? 0, this.codes[i] ?? 0);
      if (weight > largest) largest = weight;
    }
    return encodeBound(largest);
  }
}
