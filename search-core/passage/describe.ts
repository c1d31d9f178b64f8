import { cutAt, sentenceEnd, sentenceStart, skipSpace } from './boundaries.js';
import { choosePassages, type Sentence } from './choose.js';
import { growPassages } from './grow.js';
import { isMenu, Layout } from './layout.js';
import { type Matches, TermFinder } from './matches.js';

/** Stands on a line of its own where something was left out. */
const ELLIPSIS = '\n…\n';

/** Makes descriptions for the results of one query. */
export class Describer {
  private readonly finder: TermFinder;
  private readonly weights: readonly number[];
  /** For each distinct word, the words that follow it in the query. */
  private readonly followers: readonly ReadonlySet<number>[];

  /**
   * @param terms the query's words in order
   * @param weights each word's idf
   */
  constructor(terms: readonly string[], weights: ReadonlyMap<string, number>) {
    const distinct = [...new Set(terms)];
    this.finder = new TermFinder(distinct);
    this.weights = distinct.map((term) => weights.get(term) ?? 0);
    this.followers = distinct.map(
      (term) =>
        new Set(
          terms.flatMap((one, i) => (one === term ? distinct.indexOf(terms[i + 1] ?? '') : [])),
        ),
    );
  }

  /**
   * The part of a page's text that says most about the query, at most `lengthMax` UTF-16 code
   * units: a few passages in the page's order, each contiguous, with its headings and lines as they
   * stand in the page, and an ellipsis where something was left out.
   * @param title words that the reader has seen already: a passage that has only those says less
   */
  describe(title: string, text: string, lengthMax: number): string {
    if (text.length <= lengthMax) return text;
    const layout = new Layout(text);
    const sentences = this.sentences(text, this.finder.find(text));
    const request = {
      weights: this.weights,
      said: new Set(this.finder.find(title).terms),
      lengthMax,
      joiner: ELLIPSIS.length,
    };
    const chosen = choosePassages(layout, sentences, request);
    if (chosen.length === 0) return text.slice(0, lastSentenceEnd(text, lengthMax)).trimEnd();
    return growPassages(layout, chosen, lengthMax, ELLIPSIS.length)
      .map(({ start, end }) => text.slice(start, end))
      .join(ELLIPSIS);
  }

  /** The sentences with matches, in text order; menus only where there is nothing else. */
  private sentences(text: string, { offsets, terms, ordinals }: Matches): Sentence[] {
    const found: Sentence[] = [];
    let end = 0;
    for (let i = 0; i < offsets.length;) {
      const start = sentenceStart(text, offsets[i] ?? 0, end);
      end = Math.max(sentenceEnd(text, start), cutAt(text, offsets[i] ?? 0, (offsets[i] ?? 0) + 1));
      const here = new Set<number>();
      const pairs = new Set<number>();
      let together = 0;
      for (; i < offsets.length && (offsets[i] ?? 0) < end; i++) {
        const term = terms[i] ?? 0;
        here.add(term);
        const before = terms[i - 1] ?? 0;
        const isNext = i > 0 && ordinals[i] === (ordinals[i - 1] ?? 0) + 1;
        const pair = before * this.weights.length + term;
        if (!isNext || !this.followers[before]?.has(term) || pairs.has(pair)) continue;
        pairs.add(pair);
        together += this.weights[term] ?? 0;
      }
      found.push({ start, end, terms: here, together });
    }
    const readable = found.filter((sentence) => !isMenu(text, sentence.start, sentence.end));
    return readable.length > 0 ? readable : found;
  }
}

/** The end of the last whole sentence within `lengthMax`, or a cut at a space. */
function lastSentenceEnd(text: string, lengthMax: number): number {
  let end = 0;
  for (let start = 0; start < text.length; start = skipSpace(text, end)) {
    const next = sentenceEnd(text, start);
    if (next > lengthMax) break;
    end = next;
  }
  return end > 0 ? end : cutAt(text, 0, lengthMax);
}
