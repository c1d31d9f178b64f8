import { comparable } from '../rank/rerank.js';
import type { Budget } from './budget.js';
import type { LeafScorer } from './leaf-scorer.js';
import type { ScoredTerm } from './scored-term.js';
import type { TopDocuments } from './top.js';
import { WINDOW } from './window.js';

/**
 * The best documents with at least one of the words: MaxScore (Turtle and Flood, "Query evaluation:
 * strategies and optimizations", 1995) by windows with block maxima (Ding and Suel 2011; Lucene's
 * BlockMaxMaxScore). In each window, words whose bounds together cannot reach the threshold are not
 * essential: only documents with another word can get in, and the words that are not essential are
 * looked up for those alone, word by word.
 *
 * A few windows with the largest bounds come first: with what they hold, the others are passed over
 * sooner.
 */
export class AnyWordSearch {
  private readonly sums: Float64Array;
  private readonly touched: Int32Array;
  /** The window's documents that may get in, ascending, and their scores so far. */
  private readonly documents: Int32Array;
  private readonly scores: Float64Array;
  /** The terms by ascending bound in the window, and the sums of the bounds up to each. */
  private readonly order: ScoredTerm[];
  private readonly bounds: Float64Array;
  /** What a document of the window at hand must exceed. */
  private threshold = 0;

  constructor(
    private readonly scorer: LeafScorer,
    private readonly terms: readonly ScoredTerm[],
    private readonly top: TopDocuments,
    private readonly budget: Budget,
  ) {
    const size = Math.min(WINDOW, scorer.leaf.segment.meta.documents);
    this.sums = new Float64Array(size);
    this.touched = new Int32Array(Math.ceil(size / 32));
    this.documents = new Int32Array(size);
    this.scores = new Float64Array(size);
    this.order = [...terms];
    this.bounds = new Float64Array(terms.length);
  }

  run(): void {
    const totals = this.windowBounds();
    const first = promising(totals);
    if (!this.visit(first)) return;
    for (const term of this.terms) term.rewind();
    const visited = new Set(first);
    this.visit([...totals.keys()].filter((window) => !visited.has(window)));
  }

  /** The most that a document of each window can score. */
  private windowBounds(): Float64Array {
    const { documents } = this.scorer.leaf.segment.meta;
    const totals = new Float64Array(Math.ceil(documents / WINDOW));
    for (const term of this.terms) {
      const bounds = term.boundWindows(totals.length);
      for (let w = 0; w < totals.length; w++) totals[w] = (totals[w] ?? 0) + (bounds[w] ?? 0);
    }
    return totals;
  }

  /** Searches windows, which ascend; false where the search has to end. */
  private visit(windows: readonly number[]): boolean {
    const { documents } = this.scorer.leaf.segment.meta;
    for (const window of windows) {
      const start = window * WINDOW;
      const end = Math.min(start + WINDOW, documents);
      this.threshold = this.top.thresholdFrom(this.scorer.leaf.base + start);
      const essential = this.enterWindow(window);
      if (essential === this.order.length) continue;
      this.offer(this.complete(this.candidates(start, end, essential), essential));
      if (this.budget.spend(this.takeCount())) return false;
    }
    return true;
  }

  /** Orders the terms by their bounds; returns the number of those that are not essential. */
  private enterWindow(window: number): number {
    const { order, bounds } = this;
    for (let i = 0; i < order.length; i++) {
      const term = order[i];
      if (!term) continue;
      term.enterWindow(window);
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
      if (sum <= this.threshold) essential = i + 1;
    }
    return essential;
  }

  /** Finds the documents with an essential term; returns how many there are. */
  private candidates(start: number, end: number, essential: number): number {
    const { order, sums, touched, documents, scores } = this;
    const all = this.bounds[order.length - 1] ?? 0;
    const leastOf = (term: ScoredTerm): number => this.threshold - (all - term.windowBound);
    const only = essential === order.length - 1 ? order[essential] : undefined;
    if (only) return only.collect(start, end, leastOf(only), documents, scores);
    for (let i = essential; i < order.length; i++) {
      const term = order[i];
      if (term) term.accumulate(start, end, leastOf(term), sums, touched);
    }
    let count = 0;
    for (let word = 0; word < touched.length; word++) {
      let bits = touched[word] ?? 0;
      touched[word] = 0;
      while (bits !== 0) {
        const at = (word << 5) | (31 - Math.clz32(bits & -bits));
        bits &= bits - 1;
        documents[count] = start + at;
        scores[count++] = sums[at] ?? 0;
        sums[at] = 0;
      }
    }
    return count;
  }

  /**
   * Adds the other terms' scores, strongest first, and drops documents as soon as they cannot get
   * in; returns how many are left of the first `count`.
   */
  private complete(count: number, essential: number): number {
    const { documents, scores, bounds } = this;
    let left = count;
    for (let i = essential - 1; i >= 0; i--) {
      const least = this.threshold - (bounds[i] ?? 0);
      let kept = 0;
      for (let j = 0; j < left; j++) {
        const score = scores[j] ?? 0;
        if (score <= least) continue;
        documents[kept] = documents[j] ?? 0;
        scores[kept++] = score;
      }
      left = kept;
      if (left === 0) return 0;
      const others = i > 0 ? (bounds[i - 1] ?? 0) : 0;
      this.order[i]?.addScores(documents, scores, left, this.threshold - others);
    }
    return left;
  }

  private offer(count: number): void {
    const { base, deleted } = this.scorer.leaf;
    for (let i = 0; i < count; i++) {
      const score = this.scores[i] ?? 0;
      if (score <= this.threshold) continue;
      const document = this.documents[i] ?? 0;
      if (!deleted.has(document)) this.top.offer(base + document, comparable(score));
    }
  }

  private takeCount(): number {
    let count = 0;
    for (const term of this.order) count += term.takeCount();
    return count;
  }
}

/** The windows with the largest bounds, ascending: about the square root of all. */
function promising(totals: Float64Array): number[] {
  return [...totals.keys()]
    .sort((a, b) => (totals[b] ?? 0) - (totals[a] ?? 0) || a - b)
    .slice(0, Math.ceil(Math.sqrt(totals.length)))
    .sort((a, b) => a - b);
}
