import type { SearchResponse } from '../../search-core/contract.js';
import type { FreeSearches } from '../customers/limits/free-searches.js';
import type { Clock, Random } from '../ground/domain/ports.js';
import { isRefusal, type Refusal } from '../ground/domain/refusal.js';
import type { RunSearch } from './answer.js';
import { parseSearchRequest } from './request.js';

/** What came of a search on the front page. */
export type FreeReply =
  | { readonly kind: 'results'; readonly result: SearchResponse['result'] }
  /** The address has had its searches of the day. */
  | { readonly kind: 'used-up' }
  /** Others are searching for nothing; those who pay are not asked to wait for them. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

export interface FreeSearch {
  readonly perDay: number;
  remaining(address: string): number;
  /** Runs a short search that nobody pays for. Counts once it begins. */
  run(query: string, address: string, signal: AbortSignal): Promise<FreeReply>;
}

export interface FreeSearchParts {
  readonly run: RunSearch;
  readonly budget: FreeSearches;
  readonly random: Random;
  readonly clock: Clock;
  /** Told how each ended, `ok` or a refusal's code, and how many seconds it took. */
  readonly observe: (outcome: string, seconds: number) => void;
}

/** Free searches that run at once: two of search-core's many. */
const RUNNING_MAX = 2;
const RESULTS_MAX = 5;
const DESCRIPTION_LENGTH = 1000;

/** One search of the front page: the same engine as for everyone, with shorter results. */
export function createFreeSearch(parts: FreeSearchParts): FreeSearch {
  const { run, budget, random, clock } = parts;
  let running = 0;
  return {
    perDay: budget.perDay,
    remaining: (address) => budget.remaining(address),
    async run(query, address, signal) {
      const request = parseSearchRequest({
        query,
        maxResults: RESULTS_MAX,
        maxDescriptionLength: DESCRIPTION_LENGTH,
      });
      if (isRefusal(request)) return { kind: 'refused', refusal: request };
      if (running >= RUNNING_MAX) return { kind: 'busy' };
      const taken = budget.take(address);
      if (taken !== 'taken') return { kind: taken };
      running += 1;
      const startedMs = clock.monotonicMs();
      try {
        const answer = await run(request, { requestId: random.uuid(), signal });
        const seconds = (clock.monotonicMs() - startedMs) / 1000;
        parts.observe(isRefusal(answer) ? answer.code : 'ok', seconds);
        if (isRefusal(answer)) return { kind: 'refused', refusal: answer };
        const body = Buffer.from(answer.body).toString('utf8');
        // The answer was checked against the contract when it came.
        return { kind: 'results', result: (JSON.parse(body) as SearchResponse).result };
      } finally {
        running -= 1;
      }
    },
  };
}
