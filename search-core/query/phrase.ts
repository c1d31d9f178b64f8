import { comparable } from '../rank/rerank.js';
import type { Budget } from './budget.js';
import type { LeafScorer } from './leaf-scorer.js';
import { PhraseMatcher } from './phrase-matcher.js';
import type { ScoredTerm } from './scored-term.js';
import type { TopDocuments } from './top.js';
import { WINDOW } from './window.js';

/**
 * The best documents that hold every phrase, by windows. The rarest word leads and the others are
 * looked up for its documents, word by word; documents are dropped as soon as they lack a word or
 * cannot score enough, and positions are read only for those that are left.
 */
export class PhraseSearch {
  /** The words of the phrases, the rarest first. */
  private readonly required: readonly ScoredTerm[];
  private readonly optional: readonly ScoredTerm[];
  private readonly matchers: readonly PhraseMatcher[];
  /** The window's documents that may get in, ascending, and their scores so far. */
  private readonly documents: Int32Array;
  private readonly scores: Float64Array;

  /**
   * @param terms all words of the query that the leaf holds
   * @param phrases for each phrase, its words in order
   */
  constructor(
    private readonly scorer: LeafScorer,
    private readonly terms: readonly ScoredTerm[],
    phrases: readonly (readonly ScoredTerm[])[],
    private readonly top: TopDocuments,
    private readonly budget: Budget,
  ) {
    const size = Math.min(WINDOW, scorer.leaf.segment.meta.documents);
    this.documents = new Int32Array(size);
    this.scores = new Float64Array(size);
    const required = new Set(phrases.flat());
    const documentsOf = (term: ScoredTerm): number => term.cursor.entry.documents;
    this.required = [...required].sort((a, b) => documentsOf(a) - documentsOf(b));
    this.optional = terms.filter((term) => !required.has(term));
    const readers = new Map(this.required.map((term) => [term, term.positions()]));
    this.matchers = phrases.map(
      (phrase) =>
        new PhraseMatcher(
          phrase.flatMap((term, offset) => {
            const reader = readers.get(term);
            return reader ? [{ ...reader, offset }] : [];
          }),
        ),
    );
  }

  run(): void {
    const { documents } = this.scorer.leaf.segment.meta;
    const windows = Math.ceil(documents / WINDOW);
    for (const term of this.terms) term.boundWindows(windows);
    for (let window = 0; window < windows; window++) {
      let bound = 0;
      for (const term of this.terms) {
        term.enterWindow(window);
        bound += term.windowBound;
      }
      if (this.required.some((term) => term.windowBound === 0)) continue;
      const start = window * WINDOW;
      const threshold = this.top.thresholdFrom(this.scorer.leaf.base + start);
      if (bound <= threshold) continue;
      this.offer(this.candidates(start, bound, threshold));
      if (this.budget.spend(this.takeCount())) return;
    }
  }

  /** Finds the window's documents that hold all words and may get in; returns how many. */
  private candidates(start: number, bound: number, threshold: number): number {
    const { documents, scores } = this;
    const end = Math.min(start + WINDOW, this.scorer.leaf.segment.meta.documents);
    let others = bound;
    let count = 0;
    for (const [i, term] of this.required.entries()) {
      others -= term.windowBound;
      count =
        i === 0
          ? term.collect(start, end, threshold - others, documents, scores)
          : term.keepHeld(documents, scores, count, threshold - others);
      if (count === 0) return 0;
    }
    for (const term of this.optional) {
      others -= term.windowBound;
      if (term.windowBound > 0) term.addScores(documents, scores, count, threshold - others);
    }
    return count;
  }

  /** Offers those of the first `count` documents that hold the phrases. */
  private offer(count: number): void {
    const { base, deleted } = this.scorer.leaf;
    for (let i = 0; i < count; i++) {
      const document = this.documents[i] ?? 0;
      const score = comparable(this.scores[i] ?? 0);
      if (score <= this.top.thresholdFrom(base + document) || deleted.has(document)) continue;
      if (this.holdsAll(document)) this.top.offer(base + document, score);
    }
  }

  private holdsAll(document: number): boolean {
    for (const matcher of this.matchers) if (!matcher.isHeld(document)) return false;
    return true;
  }

  private takeCount(): number {
    let count = 0;
    for (const term of this.terms) count += term.takeCount();
    return count;
  }
}
