import { ConfigurationError } from './errors.js';
import type { SearchParams, SearchResponse, SearchResultItem } from './types.js';

/** Damping of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const RANK_DAMPING = 60;
const QUERIES_MAX = 100;
const CONCURRENCY_MAX = 20;

/** Several simple queries in place of one complex query. */
export interface SearchManyParams extends Omit<SearchParams, 'query'> {
  /** 1 to 100; a query that is given twice is sent once. */
  readonly queries: readonly string[];
  /** Requests in flight at once, 1 to 20; default 4. */
  readonly concurrency?: number | undefined;
}

/** One page with the queries that found it. */
export interface MergedResult extends SearchResultItem {
  /** Sum of 1 / (60 + rank) over the queries that found it; higher is better. */
  readonly score: number;
  /** Which queries found it, and at which rank (1 is the best). */
  readonly foundBy: readonly { readonly query: string; readonly rank: number }[];
}

export interface SearchManyResponse {
  /** Best first, each URL once. */
  readonly results: readonly MergedResult[];
  /** The whole answer to each query that succeeded. */
  readonly responses: ReadonlyMap<string, SearchResponse>;
  /** The queries that failed, with their errors; `results` says nothing about them. */
  readonly failures: ReadonlyMap<string, unknown>;
}

/** The same page in another spelling: fragments, default ports and letter case of hosts. */
function sameUrl(text: string): string {
  try {
    const url = new URL(text);
    url.hash = '';
    return url.href;
  } catch {
    return text;
  }
}

/** Merges ranked lists by reciprocal rank; ties keep the order of the queries. */
function mergeByReciprocalRank(responses: ReadonlyMap<string, SearchResponse>): MergedResult[] {
  const pages = new Map<string, MergedResult>();
  for (const [query, { result }] of responses) {
    const seen = new Set<string>();
    result.results.forEach((item, index) => {
      const key = sameUrl(item.url);
      if (seen.has(key)) return;
      seen.add(key);
      const before = pages.get(key) ?? { ...item, score: 0, foundBy: [] };
      const rank = index + 1;
      pages.set(key, {
        ...before,
        score: before.score + 1 / (RANK_DAMPING + rank),
        foundBy: [...before.foundBy, { query, rank }],
      });
    });
  }
  return [...pages.values()].sort((a, b) => b.score - a.score);
}

/**
 * Runs every query, a bounded number at once.
 * @throws the first error when no query succeeded
 */
export async function runMany(
  params: SearchManyParams,
  search: (params: SearchParams) => Promise<SearchResponse>,
): Promise<SearchManyResponse> {
  const { queries, concurrency = 4, ...rest } = params;
  const unique = [...new Set(queries)];
  if (unique.length < 1 || unique.length > QUERIES_MAX) {
    throw new ConfigurationError(`queries must have 1 to ${QUERIES_MAX} entries`);
  }
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > CONCURRENCY_MAX) {
    throw new ConfigurationError(`concurrency must be a whole number from 1 to ${CONCURRENCY_MAX}`);
  }
  const answers = new Map<string, SearchResponse>();
  const failures = new Map<string, unknown>();
  const waiting = unique.values();
  const worker = async () => {
    for (const query of waiting) {
      try {
        answers.set(query, await search({ ...rest, query }));
      } catch (error) {
        failures.set(query, error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, unique.length) }, worker));
  if (answers.size === 0) throw failures.get(unique[0] ?? '');
  // In the order of the queries, whichever answered first.
  const responses = new Map(
    unique.flatMap((query) => {
      const answer = answers.get(query);
      return answer ? [[query, answer] as const] : [];
    }),
  );
  return { results: mergeByReciprocalRank(responses), responses, failures };
}
