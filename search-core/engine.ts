import type { Page } from './page.js';
import type { SearchRequest, SearchResultItem } from './contract.js';

/** The engine cannot search now, and may a little later: nothing is wrong with the request. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/**
 * The port behind which an engine stands: embedded, in memory, or on other machines. It says what
 * is wanted (the best pages for a query, within a time) and nothing about how: no segment, no shard
 * and no document number leaks through it.
 */
export interface Engine {
  /**
   * The best pages for the request, in rank order. The same index and request give the same order.
   * A search that runs out of time or budget answers with the best it has and says so in `ended`.
   * @throws UnavailableError where nothing can be searched now
   */
  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome>;
  /**
   * Takes puts and deletes in this order. They are found by searches after `commit`, never before.
   * A put replaces the page that has its URL.
   */
  apply(changes: readonly Change[]): Promise<void>;
  /** Makes all applied changes durable and searchable at once. */
  commit(): Promise<void>;
  stats(): Promise<EngineStats>;
  /** Lets go of all resources; changes that are not committed are dropped. */
  close(): Promise<void>;
}

export type Change =
  | { readonly put: Page; readonly delete?: never }
  | { readonly delete: string; readonly put?: never };

export interface SearchLimits {
  /** Milliseconds that the search may take from now. */
  readonly deadlineMs: number;
  /** Postings that the search may read (an engine without such a count ignores it). */
  readonly postingsMax: number;
}

/** How a search came to its end: `complete` looked at everything that could matter. */
export type SearchEnd = 'complete' | 'deadline' | 'postings';

/**
 * What the phrases in quotes did: there were none, every page had to hold them, or too few pages do
 * and others follow those that do.
 */
export type PhraseUse = 'none' | 'required' | 'preferred';

export interface SearchOutcome {
  readonly results: readonly SearchResultItem[];
  readonly metrics: SearchMetrics;
}

export interface SearchMetrics {
  readonly ended: SearchEnd;
  readonly phrases: PhraseUse;
  /** Postings decoded, or 0 where the engine does not say. */
  readonly postings: number;
  /** The generation that was searched; absent where the engine does not say. */
  readonly generation?: number;
}

export interface EngineStats {
  /** Searchable pages. */
  readonly pages: number;
  /** Changes with every commit; 0 before the first. */
  readonly generation: number;
  /** Bytes of the files of the last commit, where the index is in files. */
  readonly bytes?: number;
  /** When it was made, in milliseconds since 1970. */
  readonly committedAt?: number;
  /**
   * Why the engine cannot take up what was committed last, or cannot search at all, in a sentence;
   * absent while all is well.
   */
  readonly problem?: string;
  /** What an operator wants to know besides, in a few words: how many copies serve. */
  readonly details?: string;
}
