import { cutAt } from './boundaries.js';

/** A long text is stored in parts of about this many UTF-16 code units. */
const PART_LENGTH = 6_000;
/** A passage of a long page is made from so many neighbouring parts. */
const PARTS_WANTED = 2;

/**
 * Cuts a text into the parts that it is stored in, at white space, so that no word is in two of
 * them. They give the text when joined.
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
  return paragraph > start + PART_LENGTH / 2 ? paragraph : cutAt(text, start, limit);
}

/**
 * The neighbouring parts of a long text that say most about a query: the sum of the idf of the
 * distinct words in them, and a little for each further occurrence.
 * @param partWords how many words each part has
 * @param occurrences for each word of the query its idf and where it stands, in words from the start
 */
export function bestParts(
  partWords: readonly number[],
  occurrences: readonly { readonly idf: number; readonly words: Int32Array }[],
): { readonly from: number; readonly to: number } {
  const length = Math.min(PARTS_WANTED, partWords.length);
  let sum = 0;
  const ends = partWords.map((words) => (sum += words));
  let [best, from] = [-1, 0];
  for (let start = 0; start + length <= partWords.length; start++) {
    const first = start === 0 ? 0 : (ends[start - 1] ?? 0);
    const last = ends[start + length - 1] ?? 0;
    let value = 0;
    for (const { idf, words } of occurrences) {
      const inside = countBetween(words, first, last);
      if (inside > 0) value += idf * (1 + Math.min(0.5, 0.05 * inside));
    }
    if (value > best) [best, from] = [value, start];
  }
  return { from, to: from + length };
}

/** How many of the ascending numbers are in [first, last). */
function countBetween(words: Int32Array, first: number, last: number): number {
  let count = 0;
  for (const word of words) if (word >= first && word < last) count++;
  return count;
}
