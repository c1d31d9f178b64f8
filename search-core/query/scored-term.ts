import { END, type PostingsCursor } from '../index/postings/cursor.js';
import { decodeBound } from '../index/postings/layout.js';
import type { TermEntry } from '../index/terms.js';
import type { LeafScorer } from './leaf-scorer.js';

/** One word of a query in one leaf: its postings and what they can add to a score. */
export class ScoredTerm {
  readonly cursor: PostingsCursor;
  /** The most that any posting can add. */
  readonly bound: number;
  /** The most that a posting of the window at hand can add; see `enterWindow`. */
  windowBound = 0;
  private windowBlock = 0;
  private readonly boundFactor: number;
  private counted = 0;

  constructor(
    private readonly scorer: LeafScorer,
    entry: TermEntry,
    /** idf, times how often the query has the word. */
    private readonly weight: number,
  ) {
    this.cursor = scorer.leaf.segment.cursor().open(entry);
    this.boundFactor = weight * scorer.boundScale;
    this.bound = decodeBound(entry.bound) * this.boundFactor;
  }

  /** Postings that were read since the last call. */
  takeCount(): number {
    const count = this.cursor.read - this.counted;
    this.counted = this.cursor.read;
    return count;
  }

  /** The score that the posting under the cursor adds. */
  score(): number {
    return this.weight * this.scorer.weight(this.cursor.document, this.cursor.code());
  }

  /** Sets `windowBound` from the blocks that overlap documents start to end − 1. */
  enterWindow(start: number, end: number): void {
    const { cursor } = this;
    if (cursor.blocks === 0) cursor.advance(start);
    if (cursor.document >= end) {
      this.windowBound = 0;
      return;
    }
    let block = (this.windowBlock = cursor.blockFor(start, this.windowBlock));
    let bound = cursor.boundOf(block);
    while (block < cursor.blocks && cursor.lastOf(block) < end - 1) {
      block++;
      bound = Math.max(bound, cursor.boundOf(block));
    }
    this.windowBound = bound * this.boundFactor;
  }

  /** The bound of the block that would hold `document`, and the last document it holds for. */
  blockBound(document: number): { readonly bound: number; readonly upTo: number } {
    this.windowBlock = this.cursor.blockFor(document, this.windowBlock);
    return {
      bound: this.cursor.boundOf(this.windowBlock) * this.boundFactor,
      upTo: this.cursor.lastOf(this.windowBlock),
    };
  }

  /**
   * Adds the scores of documents start to end − 1 to `sums`, and sets their bits in `touched`; both
   * count from `start`.
   */
  accumulate(start: number, end: number, sums: Float64Array, touched: Int32Array): void {
    const { cursor, scorer, weight } = this;
    const { documents, codes } = cursor;
    if (cursor.advance(start) >= end) return;
    for (;;) {
      cursor.loadCodes();
      const { size } = cursor;
      let i = cursor.at;
      for (; i < size; i++) {
        const document = documents[i] ?? 0;
        if (document >= end) break;
        const at = document - start;
        sums[at] = (sums[at] ?? 0) + weight * scorer.weight(document, codes[i] ?? 0);
        touched[at >> 5] = (touched[at >> 5] ?? 0) | (1 << (at & 31));
      }
      if (i < size) {
        cursor.at = i;
        cursor.document = documents[i] ?? 0;
        return;
      }
      if (cursor.block >= cursor.blocks || !cursor.load(cursor.block + 1)) {
        cursor.document = END;
        return;
      }
      cursor.document = documents[0] ?? 0;
      if (cursor.document >= end) return;
    }
  }
}
