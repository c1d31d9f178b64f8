import type { Leaf, Snapshot } from '../index/snapshot.js';
import { nearness } from '../rank/nearness.js';
import type { Ranked } from '../rank/rerank.js';
import type { FoundTerms } from './found.js';
import type { Query } from './parse.js';

const EMPTY = new Int32Array(0);

/** Reads where one word stands in the documents of one leaf, which must be asked in order. */
type PositionsOf = (document: number) => Int32Array;

/** The nearness score of each of the pages. */
export function nearnessScores(
  snapshot: Snapshot,
  query: Query,
  found: FoundTerms,
  pages: readonly Ranked[],
): number[] {
  const idfs = query.terms.map((term) => found.get(term)?.idf ?? 0);
  const scores = new Array<number>(pages.length).fill(0);
  const ascending = [...pages.keys()].sort((a, b) => (pages[a]?.page ?? 0) - (pages[b]?.page ?? 0));
  let leaf: Leaf | undefined;
  let readers = new Map<string, PositionsOf>();
  for (const i of ascending) {
    const page = pages[i]?.page ?? 0;
    const holder = snapshot.leafOf(page);
    if (holder !== leaf) {
      leaf = holder;
      readers = positionReaders(holder, snapshot.leaves.indexOf(holder), found);
    }
    const positions = new Map<string, Int32Array>();
    for (const [term, read] of readers) positions.set(term, read(page - holder.base));
    scores[i] = nearness(
      query.terms.map((term) => positions.get(term) ?? EMPTY),
      idfs,
    );
  }
  return scores;
}

/** For each word that the leaf holds, a reader of its positions. */
export function positionReaders(
  leaf: Leaf,
  number: number,
  found: FoundTerms,
): Map<string, PositionsOf> {
  const readers = new Map<string, PositionsOf>();
  for (const [term, { entries }] of found) {
    const entry = entries[number];
    if (!entry) continue;
    const cursor = leaf.segment.cursor().open(entry);
    const positions = leaf.segment.positions(cursor);
    readers.set(term, (document) =>
      cursor.advance(document) === document ? positions.read() : EMPTY,
    );
  }
  return readers;
}
