import { z } from 'zod';
import {
  DESCRIPTION_LENGTH,
  QUERY_WORDS_MAX,
  queryWords,
  RESULTS,
  type SearchRequest,
} from '../../search-core/contract.js';
import { parseParameters } from '../ground/domain/parameters.js';
import { isRefusal, type Refusal } from '../ground/domain/refusal.js';

/** The specification's SearchRequest, closed; the OpenAPI document is made from it. */
export const searchRequestSchema = z.strictObject({
  query: z
    .string('must be a string')
    .refine((query) => queryWords(query).length >= 1, 'must hold at least 1 word')
    .refine(
      (query) => queryWords(query).length <= QUERY_WORDS_MAX,
      `must hold at most ${QUERY_WORDS_MAX} words`,
    )
    .refine((query) => query.isWellFormed(), 'must be well-formed Unicode'),
  maxResults: boundedInteger(RESULTS),
  maxDescriptionLength: boundedInteger(DESCRIPTION_LENGTH),
});

function boundedInteger(bounds: { min: number; max: number; default: number }) {
  const range = `must be an integer from ${bounds.min} to ${bounds.max}`;
  return z.int(range).min(bounds.min, range).max(bounds.max, range).default(bounds.default);
}

/**
 * Turns a parsed JSON body into a SearchRequest with its defaults filled in.
 * An unsupported parameter wins over every other fault, as the specification orders.
 */
export function parseSearchRequest(body: unknown): SearchRequest | Refusal {
  const parsed = parseParameters(searchRequestSchema, body);
  return isRefusal(parsed) ? parsed : parsed.parameters;
}
