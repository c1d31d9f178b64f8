import { ConfigurationError } from './errors.js';
import type { SearchParams, SearchResponse, SearchResultItem } from './types.js';

/** Damping of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const RANK_DAMPING = 60;
const QUERIES_MAX = 100;
const CONCURRENCY_MAX = 20;
const CHARACTERS_MIN = 500;
/** A passage that is cut to fewer characters than this says too little, and is left out. */
const PASSAGE_CHARACTERS_MIN = 200;

/** Several simple queries in place of one complex query. */
export interface SearchManyParams extends Omit<SearchParams, 'query'> {
  /** 1 to 100; a query that is given twice is sent once. */
  readonly queries: readonly string[];
  /**
   * Characters of all merged results together, titles and addresses included: spent on the best
   * pages, whole where they fit; the page that does not is cut, and those behind it are left out.
   * At least 500; default: no limit. `responses` stay whole.
   */
  readonly maxCharacters?: number | undefined;
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

/** The best pages, whole while they fit; the first that does not is cut between words. */
function spendOnBest(merged: readonly MergedResult[], maxCharacters: number): MergedResult[] {
  const results: MergedResult[] = [];
  let left = maxCharacters;
  for (const page of merged) {
    const room = left - page.title.length - page.url.length;
    if (page.description.length > room) {
      if (room >= PASSAGE_CHARACTERS_MIN) {
        results.push({ ...page, description: cutAtWord(page.description, room) });
      }
      break;
    }
    results.push(page);
    left = room - page.description.length;
  }
  return results;
}

function cutAtWord(text: string, length: number): string {
  const head = text.slice(0, length - 1);
  const space = head.lastIndexOf(' ');
  const end = space > length * 0.8 ? head.slice(0, space) : head;
  // Half a surrogate pair would be no text.
  return `${end.replace(/[\uD800-\uDBFF]$/, '').trimEnd()}…`;
}

/**
 * Runs every query, a bounded number at once.
 * @throws the first error when no query succeeded
 */
export async function runMany(
  params: SearchManyParams,
  search: (params: SearchParams) => Promise<SearchResponse>,
): Promise<SearchManyResponse> {
  const { queries, concurrency = 4, maxCharacters, ...rest } = params;
  const unique = [...new Set(queries)];
  if (unique.length < 1 || unique.length > QUERIES_MAX) {
    throw new ConfigurationError(`queries must have 1 to ${QUERIES_MAX} entries`);
  }
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > CONCURRENCY_MAX) {
    throw new ConfigurationError(`concurrency must be a whole number from 1 to ${CONCURRENCY_MAX}`);
  }
  if (
    maxCharacters !== undefined &&
    !(Number.isInteger(maxCharacters) && maxCharacters >= CHARACTERS_MIN)
  ) {
    throw new ConfigurationError(
      `maxCharacters must be a whole number, at least ${CHARACTERS_MIN}`,
    );
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
  const merged = mergeByReciprocalRank(responses);
  const results = maxCharacters === undefined ? merged : spendOnBest(merged, maxCharacters);
  return { results, responses, failures };
}
