import type { PostingsCursor } from '../index/postings/cursor.js';
import type { PositionsReader } from '../index/postings/positions.js';
import type { Leaf, Snapshot } from '../index/snapshot.js';
import { LENGTHS } from '../rank/bm25f.js';
import { nearness, type Positions } from '../rank/nearness.js';
import type { Ranked } from '../rank/rerank.js';
import type { FoundTerms } from './found.js';
import type { Query } from './parse.js';

const NOWHERE: Positions = { values: new Int32Array(0), count: 0 };

/** Where one word stands in the document of a leaf that it was asked for last. */
class WordPositions implements Positions {
  values = NOWHERE.values;
  count = 0;
  private readonly reader: PositionsReader;

  constructor(
    leaf: Leaf,
    private readonly cursor: PostingsCursor,
  ) {
    this.reader = leaf.segment.positions(cursor);
  }

  /** Reads a document's positions; documents must be asked for in ascending order. */
  read(document: number): void {
    this.count = 0;
    if (this.cursor.advance(document) !== document) return;
    this.count = this.reader.read();
    this.values = this.reader.values;
  }
}

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
  let words: WordPositions[] = [];
  let inOrder: Positions[] = [];
  for (const i of ascending) {
    const page = pages[i]?.page ?? 0;
    const holder = snapshot.leafOf(page);
    if (holder !== leaf) {
      leaf = holder;
      const readers = positionReaders(holder, snapshot.leaves.indexOf(holder), found);
      words = [...readers.values()];
      inOrder = query.terms.map((term) => readers.get(term) ?? NOWHERE);
    }
    for (const word of words) word.read(page - holder.base);
    const titleCode = holder.segment.norms[2 * (page - holder.base) + 1] ?? 0;
    scores[i] = nearness(inOrder, idfs, LENGTHS[titleCode] ?? 0);
  }
  return scores;
}

/** For each word that the leaf holds, a reader of its positions. */
export function positionReaders(
  leaf: Leaf,
  number: number,
  found: FoundTerms,
): Map<string, WordPositions> {
  const readers = new Map<string, WordPositions>();
  for (const [term, { entries }] of found) {
    const entry = entries[number];
    if (entry) readers.set(term, new WordPositions(leaf, leaf.segment.cursor().open(entry)));
  }
  return readers;
}
