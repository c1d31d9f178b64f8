import { cutAt, sentenceEnd, sentenceStart, skipSpace } from './boundaries.js';
import { type Matches, TermFinder } from './matches.js';

const ELLIPSIS = ' … ';
/** What a query word is worth in a sentence beside another that a better sentence has already. */
const AGAIN = 0.5;

const MENU_LINES_MIN = 4;
const MENU_LINE_LENGTH_MAX = 30;

/** A range of the text: one sentence, or several in a row. */
interface Passage {
  start: number;
  end: number;
  score: number;
  /** The query words in it. */
  readonly terms: ReadonlySet<number>;
}

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
   * units: whole sentences, in the page's order, an ellipsis where something was left out.
   *
   * A sentence is worth the idf of the query's words in it, and again that of words that stand
   * beside each other as in the query; words that a better sentence has are worth half. The best
   * are taken first; what room is left goes to their neighbours, so that a passage reads as a whole.
   */
  describe(text: string, lengthMax: number): string {
    if (text.length <= lengthMax) return text;
    const sentences = this.sentences(text, this.finder.find(text));
    const chosen = choose(sentences, this.weights, lengthMax);
    if (chosen.length === 0) return text.slice(0, lastSentenceEnd(text, lengthMax)).trimEnd();
    return join(text, grow(text, chosen, lengthMax));
  }

  /** The sentences with matches, in text order; menus only where there is nothing else. */
  private sentences(text: string, { offsets, terms, ordinals }: Matches): Passage[] {
    const found: Passage[] = [];
    let end = 0;
    for (let i = 0; i < offsets.length;) {
      const start = sentenceStart(text, offsets[i] ?? 0, end);
      end = Math.max(sentenceEnd(text, start), cutAt(text, offsets[i] ?? 0, (offsets[i] ?? 0) + 1));
      const here = new Set<number>();
      let score = 0;
      for (; i < offsets.length && (offsets[i] ?? 0) < end; i++) {
        const term = terms[i] ?? 0;
        const weight = this.weights[term] ?? 0;
        if (!here.has(term)) score += weight;
        here.add(term);
        const isNext = i > 0 && ordinals[i] === (ordinals[i - 1] ?? 0) + 1;
        if (isNext && this.followers[terms[i - 1] ?? 0]?.has(term)) score += weight;
      }
      found.push({ start, end, score, terms: here });
    }
    const readable = found.filter((passage) => !isMenu(text, passage.start, passage.end));
    return readable.length > 0 ? readable : found;
  }
}

/** Whether a range is a row of short lines without a full stop: a menu, not something to read. */
function isMenu(text: string, start: number, end: number): boolean {
  let lines = 1;
  for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) {
    lines++;
  }
  const isShort = end - start < lines * MENU_LINE_LENGTH_MAX;
  return lines >= MENU_LINES_MIN && isShort && !'.!?'.includes(text.charAt(end - 1));
}

/** The best sentences that fit together, in text order. */
function choose(
  sentences: readonly Passage[],
  weights: readonly number[],
  lengthMax: number,
): Passage[] {
  const ranked = [...sentences].sort((a, b) => b.score - a.score || a.start - b.start);
  const covered = new Set<number>();
  for (const sentence of ranked) {
    for (const term of sentence.terms) {
      if (covered.has(term)) sentence.score -= (1 - AGAIN) * (weights[term] ?? 0);
      covered.add(term);
    }
  }
  ranked.sort((a, b) => b.score - a.score || a.start - b.start);
  const chosen: Passage[] = [];
  let room = lengthMax;
  for (const sentence of ranked) {
    const cost = sentence.end - sentence.start + (chosen.length > 0 ? ELLIPSIS.length : 0);
    if (cost > room) continue;
    room -= cost;
    chosen.push({ ...sentence });
    if (room < ELLIPSIS.length) break;
  }
  return chosen.sort((a, b) => a.start - b.start);
}

/** Adds neighbouring sentences to the passages, in turns, while there is room. */
function grow(text: string, passages: readonly Passage[], lengthMax: number): Passage[] {
  let grown = merge(text, passages);
  for (let changed = true; changed;) {
    changed = false;
    let room = lengthMax - lengthOf(grown);
    grown.forEach((passage, i) => {
      const nextStart = grown[i + 1]?.start ?? text.length;
      const after = skipSpace(text, passage.end);
      if (after < nextStart) {
        const end = Math.min(sentenceEnd(text, after), nextStart);
        if (end - passage.end <= room && end > passage.end && !isMenu(text, after, end)) {
          room -= end - passage.end;
          passage.end = end;
          changed = true;
        }
      }
      const previousEnd = grown[i - 1]?.end ?? 0;
      if (skipSpace(text, previousEnd) < passage.start) {
        const start = sentenceStart(text, passage.start - 1, previousEnd);
        const fits = passage.start - start <= room && start < passage.start;
        if (fits && !isMenu(text, start, passage.start)) {
          room -= passage.start - start;
          passage.start = start;
          changed = true;
        }
      }
    });
    grown = merge(text, grown);
  }
  return grown;
}

/** Joins passages with nothing but white space between them. */
function merge(text: string, passages: readonly Passage[]): Passage[] {
  const merged: Passage[] = [];
  for (const passage of passages) {
    const last = merged.at(-1);
    if (last && skipSpace(text, last.end) >= passage.start) last.end = passage.end;
    else merged.push(passage);
  }
  return merged;
}

function lengthOf(passages: readonly Passage[]): number {
  const text = passages.reduce((sum, { start, end }) => sum + end - start, 0);
  return text + ELLIPSIS.length * Math.max(0, passages.length - 1);
}

function join(text: string, passages: readonly Passage[]): string {
  return passages.map(({ start, end }) => text.slice(start, end)).join(ELLIPSIS);
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
