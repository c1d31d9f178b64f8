import type { Snapshot } from '../index/snapshot.js';
import type { TermEntry } from '../index/terms.js';
import { inverseDocumentFrequency } from '../rank/bm25f.js';
import type { Query } from './parse.js';

/** A distinct word of a query, looked up in every leaf. */
interface FoundTerm {
  readonly idf: number;
  /** How often the query has it. */
  readonly count: number;
  /** Its entry in each leaf. */
  readonly entries: readonly (TermEntry | undefined)[];
}

/** The distinct words of a query in the order of their first appearance. */
export type FoundTerms = ReadonlyMap<string, FoundTerm>;

export function lookUp(snapshot: Snapshot, query: Query): FoundTerms {
  const found = new Map<string, FoundTerm>();
  for (const term of query.terms) {
    const known = found.get(term);
    if (known) {
      found.set(term, { ...known, count: known.count + 1 });
      continue;
    }
    const bytes = Buffer.from(term);
    const entries = snapshot.leaves.map(({ segment }) => segment.terms.find(bytes));
    const documents = entries.reduce((sum, entry) => sum + (entry?.documents ?? 0), 0);
    found.set(term, {
      idf: inverseDocumentFrequency(snapshot.documents, documents),
      count: 1,
      entries,
    });
  }
  return found;
}
