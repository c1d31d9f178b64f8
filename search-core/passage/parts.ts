import { cutAt, sentenceStart } from './boundaries.js';

/** A long text is stored in parts of about this many UTF-16 code units. */
const PART_LENGTH = 6_000;
/** A passage of a long page is made from so many neighbouring parts. */
const PARTS_WANTED = 2;

/**
 * Cuts a text into the parts that it is stored in, at white space, so that no word is in two of
 * them: where a paragraph ends, else a sentence. They give the text when joined.
 */
export function splitText(text: string): string[] {
  if (text.length <= 2 * PART_LENGTH) return [text];
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    const rest = text.length - start;
    const end = rest <= 1.5 * PART_LENGTH ? text.length : partEnd(text, start);
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

function partEnd(text: string, start: number): number {
  const limit = start + PART_LENGTH;
  const paragraph = text.lastIndexOf('\n\n', limit);
  if (paragraph > start + PART_LENGTH / 2) return paragraph;
  const sentence = sentenceStart(text, limit, start + PART_LENGTH / 2);
  return sentence > start + PART_LENGTH / 2 ? sentence : cutAt(text, start, limit);
}

/** What a word is worth for choosing parts that the page's title says already. */
export const SAID_IN_TITLE = 0.5;

/** A word of a query in one text. */
export interface Occurrences {
  readonly idf: number;
  /** Where it stands, in words from the start, ascending. */
  readonly words: Int32Array;
}

/** Words within so many of each other speak for one place. */
const PLACE_WORDS = 60;
/** What a place is worth beside all that the parts hold. */
const PLACE_WEIGHT = 1.5;

/**
 * The neighbouring parts of a long text that say most about a query: the sum of the idf of the
 * distinct words in them, a little for each further occurrence, and more for the place within them
 * where most of the words stand close together.
 * @param partWords how many words each part has
 */
export function bestParts(
  partWords: readonly number[],
  occurrences: readonly Occurrences[],
): { readonly from: number; readonly to: number } {
  const length = Math.min(PARTS_WANTED, partWords.length);
  let sum = 0;
  const ends = partWords.map((words) => (sum += words));
  const places = bestPlaces(ends, occurrences);
  let [best, from] = [-1, 0];
  for (let start = 0; start + length <= partWords.length; start++) {
    const first = start === 0 ? 0 : (ends[start - 1] ?? 0);
    const last = ends[start + length - 1] ?? 0;
    let value = PLACE_WEIGHT * Math.max(...places.slice(start, start + length));
    for (const { idf, words } of occurrences) {
      const inside = countBetween(words, first, last);
      if (inside > 0) value += idf * (1 + Math.min(0.5, 0.05 * inside));
    }
    if (value > best) [best, from] = [value, start];
  }
  return { from, to: from + length };
}

/**
 * For each part, the idf of the distinct words at its best place: the one that ends with the word at
 * hand and begins at most PLACE_WORDS before it.
 * @param ends where each part ends, in words
 */
function bestPlaces(ends: readonly number[], occurrences: readonly Occurrences[]): number[] {
  const places = ends.map(() => 0);
  const next = occurrences.map(() => 0);
  const last = occurrences.map(() => -Infinity);
  for (let part = 0; part < ends.length;) {
    let [word, at] = [-1, Infinity];
    for (const [i, { words }] of occurrences.entries()) {
      const position = words[next[i] ?? 0] ?? Infinity;
      if (position < at) [word, at] = [i, position];
    }
    if (word < 0) break;
    next[word] = (next[word] ?? 0) + 1;
    last[word] = at;
    while (part < ends.length && at >= (ends[part] ?? 0)) part++;
    let value = 0;
    for (const [i, { idf }] of occurrences.entries()) {
      if (at - (last[i] ?? 0) <= PLACE_WORDS) value += idf;
    }
    places[part] = Math.max(places[part] ?? 0, value);
  }
  return places;
}

/** How many of the ascending numbers are in [first, last). */
function countBetween(words: Int32Array, first: number, last: number): number {
  return lowerBound(words, last) - lowerBound(words, first);
}

/** How many of the ascending numbers are below `limit`. */
function lowerBound(words: Int32Array, limit: number): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
