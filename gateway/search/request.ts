import { z } from 'zod';
import {
  DESCRIPTION_LENGTH,
  QUERY_WORDS_MAX,
  queryWords,
  RESULTS,
  type SearchRequest,
} from '../../search-core/contract.js';
import { refuse, type Refusal } from '../domain/refusal.js';

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

/** Names in a refusal are cut to this many characters: a request must not choose our reply's size. */
const NAME_LENGTH_MAX = 64;

/**
 * Turns a parsed JSON body into a SearchRequest with its defaults filled in.
 * An unsupported parameter wins over every other fault, as the specification orders.
 */
export function parseSearchRequest(body: unknown): SearchRequest | Refusal {
  const parsed = searchRequestSchema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const unknown = issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []));
  if (unknown.length > 0) return refuseUnknown(unknown);
  const [first] = issues;
  if (!first || first.path.length === 0) {
    return refuse('invalid_parameter', 'The body must be a JSON object with a "query".');
  }
  const missing = first.code === 'invalid_type' && first.input === undefined;
  const name = String(first.path[0]);
  const isMissing = missing && !(name in (body as object));
  const what = isMissing ? 'is required' : first.message;
  return refuse('invalid_parameter', `The parameter "${name}" ${what}.`);
}

function refuseUnknown(names: readonly string[]): Refusal {
  const shown = names.slice(0, 5).map((name) => JSON.stringify(name.slice(0, NAME_LENGTH_MAX)));
  const noun = names.length === 1 ? 'parameter' : 'parameters';
  return refuse(
    'unsupported_parameter',
    `Unsupported ${noun}: ${shown.join(', ')}. ` +
      'The parameters are "query", "maxResults" and "maxDescriptionLength".',
  );
}
