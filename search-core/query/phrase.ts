import { END } from '../index/postings/cursor.js';
import type { PositionsReader } from '../index/postings/positions.js';
import { comparable } from '../rank/rerank.js';
import type { Budget } from './budget.js';
import type { LeafScorer } from './leaf-scorer.js';
import type { ScoredTerm } from './scored-term.js';
import type { TopDocuments } from './top.js';

/** Documents between two looks at the clock. */
const STEPS = 512;

/** A word of a phrase: how far from the phrase's start it stands, and its positions. */
interface PhraseWord {
  readonly term: ScoredTerm;
  readonly offset: number;
  readonly positions: PositionsReader;
}

/**
 * The best documents that hold every phrase. The rarest word leads, the others follow (a leapfrog
 * join); blocks whose bounds cannot reach the threshold are skipped whole, and positions are read
 * only for documents whose score would get in.
 */
export class PhraseSearch {
  private readonly required: readonly ScoredTerm[];
  /** Each phrase's words, the rarest first. */
  private readonly phrases: readonly (readonly PhraseWord[])[];
  private readonly optional: readonly ScoredTerm[];
  private readonly optionalBound: number;

  /**
   * @param terms all words of the query that the leaf holds
   * @param phrases for each phrase, its words in order
   */
  constructor(
    private readonly scorer: LeafScorer,
    terms: readonly ScoredTerm[],
    phrases: readonly (readonly ScoredTerm[])[],
    private readonly top: TopDocuments,
    private readonly budget: Budget,
  ) {
    const required = new Set(phrases.flat());
    this.required = [...required].sort(
      (a, b) => a.cursor.entry.documents - b.cursor.entry.documents,
    );
    const { segment } = scorer.leaf;
    const readers = new Map(this.required.map((term) => [term, segment.positions(term.cursor)]));
    this.phrases = phrases.map((phrase) =>
      phrase
        .flatMap((term, offset) => {
          const positions = readers.get(term);
          return positions ? [{ term, offset, positions }] : [];
        })
        .sort((a, b) => a.term.cursor.entry.documents - b.term.cursor.entry.documents),
    );
    this.optional = terms.filter((term) => !required.has(term));
    this.optionalBound = this.optional.reduce((sum, term) => sum + term.bound, 0);
  }

  run(): void {
    let target = 0;
    for (let step = 1; ; step++) {
      if (step % STEPS === 0 && this.budget.spend(this.takeCount())) return;
      const document = this.nextCommon(target);
      if (document === END) break;
      const { bound, upTo } = this.blockBound(document);
      if (bound <= this.top.threshold) {
        target = upTo + 1;
        continue;
      }
      this.collect(document);
      target = document + 1;
    }
    this.budget.spend(this.takeCount());
  }

  /** The first document from `target` on that holds all required words, or END. */
  private nextCommon(target: number): number {
    let document = target;
    for (let agreed = 0, i = 0; agreed < this.required.length; i = (i + 1) % this.required.length) {
      const found = this.required[i]?.cursor.advance(document) ?? END;
      if (found === END) return END;
      agreed = found === document ? agreed + 1 : 1;
      document = found;
    }
    return document;
  }

  private blockBound(document: number): { bound: number; upTo: number } {
    let bound = this.optionalBound;
    let upTo = END - 1;
    for (const term of this.required) {
      const block = term.blockBound(document);
      bound += block.bound;
      upTo = Math.min(upTo, block.upTo);
    }
    return { bound, upTo };
  }

  private collect(document: number): void {
    const { base, deleted } = this.scorer.leaf;
    if (deleted.has(document)) return;
    let score = 0;
    for (const term of this.required) score += term.score();
    for (const term of this.optional) {
      if (term.cursor.advance(document) === document) score += term.score();
    }
    if (comparable(score) <= this.top.threshold) return;
    if (this.phrases.every(isHeld)) this.top.offer(base + document, comparable(score));
  }

  private takeCount(): number {
    let count = 0;
    for (const term of this.required) count += term.takeCount();
    for (const term of this.optional) count += term.takeCount();
    return count;
  }
}

/** Whether the document that all words stand on holds the phrase; reads no more than it must. */
function isHeld(phrase: readonly PhraseWord[]): boolean {
  let starts: Int32Array | undefined;
  for (const { positions, offset } of phrase) {
    const here = positions.read().map((position) => position - offset);
    starts = starts ? intersection(starts, here) : here;
    if (starts.length === 0) return false;
  }
  return true;
}

/** The numbers that are in both; both ascend. */
function intersection(a: Int32Array, b: Int32Array): Int32Array {
  let at = 0;
  return a.filter((value) => {
    while (at < b.length && (b[at] ?? 0) < value) at++;
    return b[at] === value;
  });
}
