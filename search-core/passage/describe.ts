import { queryTerms, words } from '../analyze/tokenize.js';
import { cutAt, sentences, type Sentence } from './sentences.js';

const ELLIPSIS = ' … ';

/**
 * The part of a page's text that says most about the query, at most `lengthMax` UTF-16 code units:
 * whole sentences where they fit, in the page's order, an ellipsis where something was left out.
 *
 * Every sentence is worth the idf of the query's words in it; words in the query's order beside
 * each other are worth more; a word that was already covered by a better sentence is worth less.
 * The best are taken first, and what room is left goes to their neighbours, so that a passage reads
 * as a whole.
 *
 * @param weights each query word's idf; words that no page holds may be missing
 */
export function describe(
  text: string,
  weights: ReadonlyMap<string, number>,
  terms: readonly string[],
  lengthMax: number,
): string {
  const parts = sentences(text);
  const whole = join(text, parts, (_, i) => i >= 0);
  if (whole.length <= lengthMax) return whole;
  const chosen = choose(text, parts, score(text, parts, weights, terms), lengthMax);
  return chosen.size > 0 ? join(text, parts, (_, i) => chosen.has(i)) : cutTo(whole, lengthMax);
}

/** A sentence as it is shown: white space inside it is one space. */
function shown(text: string, { start, end }: Sentence): string {
  return text.slice(start, end).replace(/\s+/gu, ' ');
}

function join(
  text: string,
  parts: readonly Sentence[],
  takes: (part: Sentence, index: number) => boolean,
): string {
  let out = '';
  let last = -1;
  parts.forEach((part, i) => {
    if (!takes(part, i)) return;
    if (last >= 0) out += last === i - 1 ? (part.paragraph ? '\n' : ' ') : ELLIPSIS;
    out += shown(text, part);
    last = i;
  });
  return out;
}

function score(
  text: string,
  parts: readonly Sentence[],
  weights: ReadonlyMap<string, number>,
  terms: readonly string[],
): Float64Array {
  const pairs = new Set(terms.slice(1).map((term, i) => `${terms[i] ?? ''} ${term}`));
  return Float64Array.from(parts, ({ start, end }) => {
    const here = queryTerms(text.slice(start, end));
    let sum = 0;
    const seen = new Set<string>();
    here.forEach((word, i) => {
      const weight = weights.get(word);
      if (weight === undefined) return;
      if (!seen.has(word)) sum += weight;
      seen.add(word);
      if (i > 0 && pairs.has(`${here[i - 1] ?? ''} ${word}`)) sum += weight;
    });
    return sum;
  });
}

/** Takes the best sentences while they fit, then their neighbours while those fit. */
function choose(
  text: string,
  parts: readonly Sentence[],
  scores: Float64Array,
  lengthMax: number,
): Set<number> {
  const chosen = new Set<number>();
  let room = lengthMax;
  const take = (i: number): boolean => {
    const part = parts[i];
    if (!part || chosen.has(i)) return false;
    const cost = shown(text, part).length + ELLIPSIS.length;
    if (cost > room) return false;
    chosen.add(i);
    room -= cost;
    return true;
  };
  const best = [...scores.keys()]
    .filter((i) => (scores[i] ?? 0) > 0)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  for (const i of best.length > 0 ? best : [0]) take(i);
  for (let grew = true; grew;) {
    grew = false;
    for (const i of [...chosen]) grew = take(i + 1) || take(i - 1) || grew;
  }
  return chosen;
}

function cutTo(text: string, lengthMax: number): string {
  return text.slice(0, cutAt(text, 0, lengthMax)).trimEnd();
}

/** A title for display: one line, no outer space. */
export function cleanTitle(title: string, url: string): string {
  const clean = title.replace(/\s+/gu, ' ').trim();
  return clean === '' || words(clean).length === 0 ? url : clean;
}
