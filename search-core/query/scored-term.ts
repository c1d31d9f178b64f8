import type { PostingsCursor } from '../index/postings/cursor.js';
import type { PositionsReader } from '../index/postings/positions.js';
import type { TermEntry } from '../index/terms.js';
import { type LeafScorer, weightOf } from './leaf-scorer.js';
import { WINDOW_BITS, WINDOW_MASK } from './window.js';

/** One word of a query in one leaf: its postings and what they can add to a score. */
export class ScoredTerm {
  readonly cursor: PostingsCursor;
  /** The most that a posting of the window at hand can add; see `enterWindow`. */
  windowBound = 0;
  /** A bound for each window; see `boundWindows`. */
  private windowBounds = new Float64Array(0);
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
  }

  /** Postings that were read since the last call. */
  takeCount(): number {
    const count = this.cursor.read - this.counted;
    this.counted = this.cursor.read;
    return count;
  }

  /** Goes back to before the first posting. */
  rewind(): void {
    this.cursor.rewind();
    this.windowBlock = 0;
  }

  /** The most that the term can add to a document in each of the first `count` windows. */
  boundWindows(count: number): Float64Array {
    const { cursor } = this;
    const bounds = new Float64Array(count);
    for (let block = 0; block < cursor.blocks; block++) {
      const bound = cursor.boundOf(block) * this.boundFactor;
      const last = cursor.lastOf(block) >> WINDOW_BITS;
      const before = block > 0 ? cursor.lastOf(block - 1) : -1;
      for (let w = (before + 1) >> WINDOW_BITS; w <= last; w++) {
        if (bound > (bounds[w] ?? 0)) bounds[w] = bound;
      }
    }
    if (cursor.load(cursor.blocks)) this.boundTail(bounds);
    this.rewind();
    return (this.windowBounds = bounds);
  }

  /** Bounds of the tail, which is loaded: it is short, so what its documents do score. */
  private boundTail(bounds: Float64Array): void {
    const { documents, codes, size } = this.cursor;
    for (let i = 0; i < size; i++) {
      const document = documents[i] ?? 0;
      const score = this.weight * this.scorer.weight(document, codes[i] ?? 0);
      const window = document >> WINDOW_BITS;
      if (score > (bounds[window] ?? 0)) bounds[window] = score;
    }
  }

  /** Sets `windowBound`. */
  enterWindow(window: number): void {
    this.windowBound = this.windowBounds[window] ?? 0;
  }

  /** Reads where the word stands; with a cursor of its own. */
  positions(): { readonly cursor: PostingsCursor; readonly positions: PositionsReader } {
    const { segment } = this.scorer.leaf;
    const cursor = segment.cursor().open(this.cursor.entry);
    return { cursor, positions: segment.positions(cursor) };
  }

  /**
   * Adds the scores of documents start to end − 1 to `sums`, and sets their bits in `touched`; both
   * count from `start`. What scores `least` or less may be left out.
   */
  accumulate(
    start: number,
    end: number,
    least: number,
    sums: Float64Array,
    touched: Int32Array,
  ): void {
    const { cursor, weight } = this;
    const { documents, codes } = cursor;
    const { lengths, body, title } = this.scorer;
    let block = this.blockFor(start);
    while ((block = this.loadBlock(block, end, least)) >= 0) {
      const to = cursor.indexOf(end);
      for (let i = cursor.indexOf(start); i < to; i++) {
        const document = documents[i] ?? 0;
        const score = weight * weightOf(codes[i] ?? 0, lengths[document] ?? 0, body, title);
        if (score <= least) continue;
        const at = document - start;
        sums[at] = (sums[at] ?? 0) + score;
        touched[at >> 5] = (touched[at >> 5] ?? 0) | (1 << (at & 31));
      }
      block++;
    }
  }

  /**
   * Writes the documents start to end − 1 that score more than `least` to `into`, and their scores
   * to `scores`; returns how many there are.
   */
  collect(
    start: number,
    end: number,
    least: number,
    into: Int32Array,
    scores: Float64Array,
  ): number {
    const { cursor, weight } = this;
    const { documents, codes } = cursor;
    const { lengths, body, title } = this.scorer;
    let count = 0;
    let block = this.blockFor(start);
    while ((block = this.loadBlock(block, end, least)) >= 0) {
      const to = cursor.indexOf(end);
      for (let i = cursor.indexOf(start); i < to; i++) {
        const document = documents[i] ?? 0;
        const score = weight * weightOf(codes[i] ?? 0, lengths[document] ?? 0, body, title);
        if (score <= least) continue;
        into[count] = document;
        scores[count++] = score;
      }
      block++;
    }
    return count;
  }

  /** The block that holds the first document from `start` on. */
  private blockFor(start: number): number {
    return (this.windowBlock = this.cursor.blockFor(start, this.windowBlock));
  }

  /**
   * Loads the first block from `block` on that has documents below `end` and can add more than
   * `least`, with its codes; returns its number, or −1 if there is none.
   */
  private loadBlock(block: number, end: number, least: number): number {
    const { cursor, boundFactor } = this;
    for (let next = block; next <= cursor.blocks; next++) {
      if (next > 0 && cursor.lastOf(next - 1) >= end - 1) return -1;
      if (cursor.boundOf(next) * boundFactor <= least) continue;
      if (cursor.block !== next && !cursor.load(next)) return -1;
      cursor.loadCodes();
      return next;
    }
    return -1;
  }

  /**
   * Adds the scores of the first `count` of some documents, which ascend and are in one window, to
   * theirs. Those that would not score more than `least` may be left as they are.
   */
  addScores(wanted: Int32Array, scores: Float64Array, count: number, least: number): void {
    const { cursor, boundFactor } = this;
    let block = this.blockFor(wanted[0] ?? 0);
    for (let from = 0; from < count;) {
      block = cursor.blockFor(wanted[from] ?? 0, block);
      const last = cursor.lastOf(block);
      const needed = least - cursor.boundOf(block) * boundFactor;
      let some = false;
      let to = from;
      for (; to < count && (wanted[to] ?? 0) <= last; to++) some ||= (scores[to] ?? 0) > needed;
      if (some) {
        if (cursor.block !== block && !cursor.load(block)) return;
        this.addInBlock(wanted, scores, from, to);
      }
      from = to;
    }
  }

  /** The same for documents `from` to `to` − 1, whose block is loaded. */
  private addInBlock(wanted: Int32Array, scores: Float64Array, from: number, to: number): void {
    const { cursor, weight } = this;
    const { documents, codes } = cursor;
    const { lengths, body, title, places } = this.scorer;
    cursor.loadCodes();
    const end = cursor.place(wanted[from] ?? 0, wanted[to - 1] ?? 0, places);
    for (let i = from; i < to; i++) {
      const document = wanted[i] ?? 0;
      const at = places[document & WINDOW_MASK] ?? 0;
      if (at >= end || documents[at] !== document) continue;
      const own = weight * weightOf(codes[at] ?? 0, lengths[document] ?? 0, body, title);
      scores[i] = (scores[i] ?? 0) + own;
    }
  }

  /**
   * Keeps, of the first `count` of some documents that ascend and are in one window, those that
   * hold the term and score more than `least` with it; returns how many they are.
   */
  keepHeld(wanted: Int32Array, scores: Float64Array, count: number, least: number): number {
    const { cursor, boundFactor } = this;
    let block = this.blockFor(wanted[0] ?? 0);
    let kept = 0;
    for (let from = 0; from < count;) {
      block = cursor.blockFor(wanted[from] ?? 0, block);
      const last = cursor.lastOf(block);
      const needed = least - cursor.boundOf(block) * boundFactor;
      const first = kept;
      for (; from < count && (wanted[from] ?? 0) <= last; from++) {
        const score = scores[from] ?? 0;
        if (score <= needed) continue;
        wanted[kept] = wanted[from] ?? 0;
        scores[kept++] = score;
      }
      if (kept === first) continue;
      if (cursor.block !== block && !cursor.load(block)) return first;
      kept = this.keepInBlock(wanted, scores, first, kept, least);
    }
    return kept;
  }

  /** The same for documents `from` to `to` − 1, whose block is loaded; returns where they end. */
  private keepInBlock(
    wanted: Int32Array,
    scores: Float64Array,
    from: number,
    to: number,
    least: number,
  ): number {
    const { cursor, weight } = this;
    const { documents, codes } = cursor;
    const { lengths, body, title, places } = this.scorer;
    cursor.loadCodes();
    const end = cursor.place(wanted[from] ?? 0, wanted[to - 1] ?? 0, places);
    let kept = from;
    for (let i = from; i < to; i++) {
      const document = wanted[i] ?? 0;
      const at = places[document & WINDOW_MASK] ?? 0;
      if (at >= end || documents[at] !== document) continue;
      const own = weight * weightOf(codes[at] ?? 0, lengths[document] ?? 0, body, title);
      const score = (scores[i] ?? 0) + own;
      if (score <= least) continue;
      wanted[kept] = document;
      scores[kept++] = score;
    }
    return kept;
  }
}
