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
  private readonly phrases: readonly PhraseMatcher[];
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
    this.phrases = phrases.map((phrase) => {
      const words = phrase.flatMap((term, offset) => {
        const positions = readers.get(term);
        return positions ? [{ term, offset, positions }] : [];
      });
      return new PhraseMatcher(words);
    });
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
      if (bound <= this.top.thresholdFrom(this.scorer.leaf.base + document)) {
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
    if (comparable(score) <= this.top.thresholdFrom(base + document)) return;
    if (this.phrases.every((phrase) => phrase.isHeld())) this.top.offer(base + document, comparable(score));
  }

  private takeCount(): number {
    let count = 0;
    for (const term of this.required) count += term.takeCount();
    for (const term of this.optional) count += term.takeCount();
    return count;
  }
}

/**
 * Finds out whether documents hold a phrase. Words are read in the order of how often the document
 * has them, and no further once none of the places is left where the phrase may start.
 */
class PhraseMatcher {
  private starts = new Int32Array(1 << 7);

  /** @param words the phrase's words; they are put in the order in which they were read last */
  constructor(private readonly words: PhraseWord[]) {}

  /** Whether the document that all words stand on holds the phrase. */
  isHeld(): boolean {
    this.sortWords();
    let left = -1;
    for (const word of this.words) {
      left = left < 0 ? this.readStarts(word) : this.keepStarts(word, left);
      if (left === 0) return false;
    }
    return true;
  }

  /** Puts the words that the document has least often first: an insertion sort of a few. */
  private sortWords(): void {
    const { words } = this;
    for (let i = 1; i < words.length; i++) {
      const word = words[i];
      if (!word) continue;
      const code = word.term.cursor.code();
      let at = i;
      for (; at > 0; at--) {
        const before = words[at - 1];
        if (!before || before.term.cursor.code() <= code) break;
        words[at] = before;
      }
      words[at] = word;
    }
  }

  /** Where the phrase would start for each place of this word; returns how many there are. */
  private readStarts({ positions, offset }: PhraseWord): number {
    const count = positions.read();
    if (count > this.starts.length) this.starts = new Int32Array(2 * count);
    for (let i = 0; i < count; i++) this.starts[i] = (positions.values[i] ?? 0) - offset;
    return count;
  }

  /** Keeps the starts from which this word stands where it should; returns how many are left. */
  private keepStarts({ positions, offset }: PhraseWord, left: number): number {
    const count = positions.read();
    const { starts } = this;
    const { values } = positions;
    let kept = 0;
    let at = 0;
    for (let i = 0; i < left; i++) {
      const start = starts[i] ?? 0;
      while (at < count && (values[at] ?? 0) < start + offset) at++;
      if (at === count) break;
      if (values[at] === start + offset) starts[kept++] = start;
    }
    return kept;
  }
}
