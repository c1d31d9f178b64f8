import { comparable } from '../rank/rerank.js';
import type { Budget } from './budget.js';
import type { LeafScorer } from './leaf-scorer.js';
import type { ScoredTerm } from './scored-term.js';
import type { TopDocuments } from './top.js';

/** Documents that are scored together; their sums stay in the first-level cache. */
const WINDOW = 4096;

/**
 * The best documents with at least one of the words: MaxScore (Turtle and Flood, "Query evaluation:
 * strategies and optimizations", 1995) by windows with block maxima (Ding and Suel 2011; Lucene's
 * BlockMaxMaxScore). In each window, words whose bounds together cannot reach the threshold are not
 * essential: only documents with another word can get in, and the words that are not essential are
 * looked up for those alone.
 */
export class AnyWordSearch {
  private readonly sums = new Float64Array(WINDOW);
  private readonly touched = new Int32Array(WINDOW / 32);
  /** The terms by ascending bound in the window, and the sums of the bounds up to each. */
  private readonly order: ScoredTerm[];
  private readonly bounds: Float64Array;

  constructor(
    private readonly scorer: LeafScorer,
    terms: readonly ScoredTerm[],
    private readonly top: TopDocuments,
    private readonly budget: Budget,
  ) {
    this.order = [...terms];
    this.bounds = new Float64Array(terms.length);
  }

  run(): void {
    const { documents } = this.scorer.leaf.segment.meta;
    for (let start = 0; start < documents; start += WINDOW) {
      const end = Math.min(start + WINDOW, documents);
      const essential = this.enterWindow(start, end);
      if (essential === this.order.length) continue;
      for (let i = essential; i < this.order.length; i++) {
        this.order[i]?.accumulate(start, end, this.sums, this.touched);
      }
      this.collect(start, essential);
      if (this.budget.spend(this.takeCount())) return;
    }
  }

  /** Orders the terms by their bounds; returns the number of those that are not essential. */
  private enterWindow(start: number, end: number): number {
    const { order, bounds } = this;
    for (let i = 0; i < order.length; i++) {
      const term = order[i];
      if (!term) continue;
      term.enterWindow(start, end);
      let at = i;
      for (; at > 0; at--) {
        const before = order[at - 1];
        if (!before || before.windowBound <= term.windowBound) break;
        order[at] = before;
      }
      order[at] = term;
    }
    let sum = 0;
    let essential = 0;
    for (let i = 0; i < order.length; i++) {
      sum += order[i]?.windowBound ?? 0;
      bounds[i] = sum;
      if (sum <= this.top.threshold) essential = i + 1;
    }
    return essential;
  }

  /** Offers the documents that the essential terms touched. */
  private collect(start: number, essential: number): void {
    const { sums, touched } = this;
    const { base, deleted } = this.scorer.leaf;
    for (let word = 0; word < touched.length; word++) {
      let bits = touched[word] ?? 0;
      touched[word] = 0;
      while (bits !== 0) {
        const at = (word << 5) | (31 - Math.clz32(bits & -bits));
        bits &= bits - 1;
        const sum = sums[at] ?? 0;
        sums[at] = 0;
        const score = essential > 0 ? this.complete(start + at, sum, essential) : sum;
        if (score > this.top.threshold && !deleted.has(start + at)) {
          this.top.offer(base + start + at, comparable(score));
        }
      }
    }
  }

  /** Adds the other terms' scores, strongest first; 0 as soon as the document cannot get in. */
  private complete(document: number, sum: number, essential: number): number {
    let score = sum;
    for (let i = essential - 1; i >= 0; i--) {
      if (score + (this.bounds[i] ?? 0) <= this.top.threshold) return 0;
      const term = this.order[i];
      if (term?.cursor.advance(document) === document) score += term.score();
    }
    return score;
  }

  private takeCount(): number {
    let count = 0;
    for (const term of this.order) count += term.takeCount();
    return count;
  }
}
