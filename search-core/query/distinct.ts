import type { SearchResultItem } from '../contract.js';

/** So many repeats make room for further results; those after them stay where they are. */
export const FURTHER_MAX = 5;
/** Pages of one title whose passages share this much of their text are versions of each other. */
const SHARED_MIN = 0.6;
/** Shorter lines and sentences stand in many pages. */
const PIECE_LENGTH_MIN = 20;

/** A result and what it is compared by. */
interface Shown {
  readonly item: SearchResultItem;
  /** Its lines and sentences, once they are asked for. */
  pieces?: ReadonlySet<string>;
}

/**
 * The first `wanted` results that say something of their own. One that repeats another's passage, or
 * that has its title and most of its passage (another version of the same page), comes behind all
 * others, and is shown only where too little else was found.
 * @param items results in rank order, made when they are asked for
 */
export function distinctResults(
  items: Iterable<SearchResultItem>,
  wanted: number,
): SearchResultItem[] {
  const kept: SearchResultItem[] = [];
  const repeats: SearchResultItem[] = [];
  const byTitle = new Map<string, Shown[]>();
  const descriptions = new Set<string>();
  for (const item of items) {
    const shown: Shown = { item };
    const key = titleKey(item.title);
    const sameTitle = byTitle.get(key) ?? [];
    const isRepeat =
      repeats.length < FURTHER_MAX &&
      (descriptions.has(item.description) || sameTitle.some((other) => isVersion(shown, other)));
    (isRepeat ? repeats : kept).push(item);
    if (kept.length === wanted) break;
    if (isRepeat) continue;
    descriptions.add(item.description);
    byTitle.set(key, [...sameTitle, shown]);
  }
  return [...kept, ...repeats].slice(0, wanted);
}

/** A title without its numbers: versions and years differ in those alone. */
function titleKey(title: string): string {
  return title.toLowerCase().replace(/\d+/gu, '0');
}

/** Whether most of the shorter one of two passages stands in the other. */
function isVersion(a: Shown, b: Shown): boolean {
  const [first, second] = [piecesOf(a), piecesOf(b)];
  const [few, many] = first.size < second.size ? [first, second] : [second, first];
  let [shared, all] = [0, 0];
  for (const piece of few) {
    all += piece.length;
    if (many.has(piece)) shared += piece.length;
  }
  return all > 0 && shared >= SHARED_MIN * all;
}

function piecesOf(shown: Shown): ReadonlySet<string> {
  shown.pieces ??= new Set(
    shown.item.description
      .split(/\n|(?<=[.!?]) /u)
      .filter(({ length }) => length >= PIECE_LENGTH_MIN),
  );
  return shown.pieces;
}
