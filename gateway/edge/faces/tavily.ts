import { z } from 'zod';
import { DESCRIPTION_LENGTH, RESULTS } from '../../../search-core/contract.js';
import type { RefusalCode } from '../../ground/domain/refusal.js';
import { misread, type Asked, type Face, type Misread, type Question } from './face.js';
import { plainQuery, resultsToAsk, selected } from './selection.js';

/** Tavily's limits (docs.tavily.com, endpoint search). */
const RESULTS_DEFAULT = 5;
const CHUNKS = { min: 1, max: 3 } as const;
const ONLY_DOMAINS_MAX = 300;
const NEVER_DOMAINS_MAX = 150;

const domainList = (max: number) => z.array(z.string().max(2000)).max(max).nullish();

/** The fields that change something here, or that Tavily refuses for their value; others are ignored. */
const searchSchema = z.object({
  query: z.string().min(1),
  search_depth: z.enum(['basic', 'advanced', 'fast', 'ultra-fast']).nullish(),
  topic: z.enum(['general', 'news', 'finance']).nullish(),
  max_results: z.int().min(0).max(RESULTS.max).nullish(),
  chunks_per_source: z.int().min(CHUNKS.min).max(CHUNKS.max).nullish(),
  include_domains: domainList(ONLY_DOMAINS_MAX),
  exclude_domains: domainList(NEVER_DOMAINS_MAX),
  include_usage: z.boolean().nullish(),
});

/** What is said of a field whose value is not taken. */
const FAULTS: Readonly<Record<string, string>> = {
  query: 'Query is missing.',
  search_depth: "Invalid search depth. Must be 'basic', 'advanced', 'fast' or 'ultra-fast'.",
  topic: "Invalid topic. Must be 'general', 'news' or 'finance'.",
  max_results: `Invalid max_results. Must be an integer from 0 to ${RESULTS.max}.`,
  chunks_per_source: 'Invalid chunks_per_source. Must be an integer from 1 to 3.',
  include_domains: `Invalid include_domains. Must be a list of at most ${ONLY_DOMAINS_MAX} domains.`,
  exclude_domains: `Invalid exclude_domains. Must be a list of at most ${NEVER_DOMAINS_MAX} domains.`,
  include_usage: 'Invalid include_usage. Must be true or false.',
};

/** Statuses that Tavily has and we do not: its clients tell by them what to raise. */
const STATUSES: Partial<Record<RefusalCode, number>> = {
  insufficient_credits: 432, // its plan's limit is exceeded
  unsupported_media_type: 400,
  unsupported_parameter: 400,
  invalid_parameter: 400,
};

/** Tavily's search API (docs.tavily.com/documentation/api-reference/endpoint/search). */
export const tavily: Face = {
  takes: 'json',
  read,
  misread: ({ detail }) => ({ status: 400, body: errorBody(detail) }),
  refuse: ({ code, status, detail }) => ({
    status: STATUSES[code] ?? status,
    body: errorBody(code === 'missing_api_key' || code === 'invalid_api_key' ? NO_KEY : detail),
  }),
};

const NO_KEY = 'Unauthorized: missing or invalid API key.';

function errorBody(error: string): object {
  return { detail: { error } };
}

function read({ body }: Asked): Question | Misread {
  const parsed = searchSchema.safeParse(body);
  if (!parsed.success) {
    const field = String(parsed.error.issues[0]?.path[0] ?? 'query');
    return misread(field, FAULTS[field] ?? 'The body must be a JSON object.');
  }
  const { data } = parsed;
  const { query, domains } = plainQuery(data.query);
  const selection = {
    skip: 0,
    count: data.max_results ?? RESULTS_DEFAULT,
    domains: {
      only: [...domains.only, ...(data.include_domains ?? [])],
      never: [...domains.never, ...(data.exclude_domains ?? [])],
    },
  };
  const chunks = data.search_depth === 'advanced' ? (data.chunks_per_source ?? CHUNKS.max) : 1;
  return {
    search: {
      query,
      maxResults: resultsToAsk(selection),
      maxDescriptionLength: chunks * DESCRIPTION_LENGTH.min,
    },
    answer({ result }, requestId) {
      const results = selected(result.results, selection).map(
        ({ title, url, description }, rank) => ({
          url,
          title,
          content: description,
          score: score(rank),
          raw_content: null,
        }),
      );
      return {
        query: data.query,
        follow_up_questions: null,
        answer: null,
        images: [],
        results,
        response_time: result.searchMetadata.executionTime,
        request_id: requestId,
        ...(data.include_usage === true && { usage: { credits: 1 } }),
      };
    },
  };
}

/** By rank alone, from 1 to just above 0.5: programs throw away what scores below a half. */
function score(rank: number): number {
  return Number((1 - rank / (2 * RESULTS.max)).toFixed(3));
}
