import { z } from 'zod';
import type { SearchRequest } from '../../search-core/contract.js';
import type { Refusal } from '../ground/domain/refusal.js';

/** A search that succeeded: the exact bytes of the 200, checked against the contract. */
export interface SearchAnswer {
  readonly kind: 'answer';
  readonly body: Uint8Array;
  readonly resultCount: number;
  /** The generation of the index that was searched, where search-core says it. */
  readonly generation?: number;
}

/** How a search ran, for the books of usage; never for the caller's reply. */
export interface RunContext {
  /** The id that the answer's `requestId` must carry. */
  readonly requestId: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * Runs one validated search on search-core. Resolves with an answer or a refusal
 * (`upstream_error`, `upstream_timeout`, `service_unavailable`); never rejects.
 */
export type RunSearch = (
  request: SearchRequest,
  context: RunContext,
) => Promise<SearchAnswer | Refusal>;

export const searchResponseSchema = z.strictObject({
  requestId: z.string(),
  result: z.strictObject({
    results: z.array(z.strictObject({ title: z.string(), url: z.url(), description: z.string() })),
    searchMetadata: z.strictObject({ executionTime: z.number().min(0) }),
    totalResults: z.int().min(0),
  }),
});

/**
 * Checks what search-core sent before anybody pays for it: the closed shape, the asked bounds, the
 * request's own id. Returns what is wrong, or the number of results.
 */
export function checkAnswer(
  body: unknown,
  request: SearchRequest,
  requestId: string,
): { fault: string } | { resultCount: number } {
  const parsed = searchResponseSchema.safeParse(body);
  if (!parsed.success) return { fault: 'the answer does not have the contract’s shape' };
  const { results, totalResults } = parsed.data.result;
  if (parsed.data.requestId !== requestId) return { fault: 'the answer is for another request' };
  if (results.length > request.maxResults) return { fault: 'more results than asked for' };
  if (totalResults !== results.length)
    return { fault: 'totalResults is not the number of results' };
  if (results.some((item) => item.description.length > request.maxDescriptionLength)) {
    return { fault: 'a description is longer than asked for' };
  }
  return { resultCount: results.length };
}
