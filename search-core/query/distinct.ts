import type { SearchResultItem } from '../contract.js';

/** So many repeats make room for further results; those after them stay where they are. */
export const FURTHER_MAX = 5;
/** A result repeats an earlier one where this much of its passages stands in that one's … */
const SHARED_MIN = 0.8;
/** … and less is enough where their titles differ in numbers alone: versions of one page. */
const SHARED_BY_VERSIONS_MIN = 0.6;
/** Shorter lines and sentences stand in many pages. */
const PIECE_LENGTH_MIN = 20;

/** What results are compared by, beside their pieces. */
interface Compared {
  readonly titleKey: string;
  /** UTF-16 code units in its pieces. */
  readonly length: number;
}

/**
 * The first `wanted` results that say something of their own. One that repeats another, as versions
 * of a page do, comes behind all others, and is shown only where too little else was found.
 * @param items results in rank order, made when they are asked for
 */
export function distinctResults(
  items: Iterable<SearchResultItem>,
  wanted: number,
): SearchResultItem[] {
  const kept: SearchResultItem[] = [];
  const repeats: SearchResultItem[] = [];
  const shown: Compared[] = [];
  /** For each line or sentence, which of the results shown have it. */
  const holders = new Map<string, number[]>();
  for (const item of items) {
    const pieces = piecesOf(item.description);
    const one = {
      titleKey: titleKey(item.title),
      length: pieces.reduce((sum, { length }) => sum + length, 0),
    };
    const isRepeat = repeats.length < FURTHER_MAX && repeatsOne(one, pieces, shown, holders);
    (isRepeat ? repeats : kept).push(item);
    if (kept.length === wanted) break;
    if (isRepeat) continue;
    for (const piece of pieces) {
      const known = holders.get(piece);
      if (known) known.push(shown.length);
      else holders.set(piece, [shown.length]);
    }
    shown.push(one);
  }
  return [...kept, ...repeats].slice(0, wanted);
}

/** Whether one of the results shown has most of a result's pieces. */
function repeatsOne(
  one: Compared,
  pieces: readonly string[],
  shown: readonly Compared[],
  holders: ReadonlyMap<string, readonly number[]>,
): boolean {
  const shared = new Map<number, number>();
  for (const piece of pieces) {
    for (const holder of holders.get(piece) ?? []) {
      shared.set(holder, (shared.get(holder) ?? 0) + piece.length);
    }
  }
  return [...shared].some(([holder, length]) => {
    const other = shown[holder];
    if (!other) return false;
    const least = other.titleKey === one.titleKey ? SHARED_BY_VERSIONS_MIN : SHARED_MIN;
    return length >= least * one.length;
  });
}

/** A title without its numbers: versions and years differ in those alone. */
function titleKey(title: string): string {
  return title.toLowerCase().replace(/\d+/gu, '0');
}

/** The lines and sentences of a text, each once. */
function piecesOf(text: string): string[] {
  const pieces = new Set<string>();
  for (const line of text.split('\n')) {
    for (const piece of line.split('. ')) if (piece.length >= PIECE_LENGTH_MIN) pieces.add(piece);
  }
  return [...pieces];
}
