import { DESCRIPTION_LENGTH, RESULTS } from '../../../search-core/contract.js';
import { parseUrl } from '../../../network/parse-url.js';
import type { Refusal, RefusalCode } from '../../ground/domain/refusal.js';
import {
  misread,
  type Asked,
  type Face,
  type FaceReply,
  type Misread,
  type Question,
  type RefusalContext,
} from './face.js';
import { plainQuery, resultsToAsk, selected } from './selection.js';

/** Pages that Brave counts from 0. */
const OFFSET_MAX = 9;

/** Brave's web search (api-dashboard.search.brave.com, documentation of Web Search). */
export const brave: Face = {
  takes: 'fields',
  read,
  misread: ({ field, detail }, context) => invalid(['query', field], detail, context),
  refuse,
};

function read({ fields }: Asked): Question | Misread {
  const text = (fields.get('q') ?? '').trim();
  if (text === '') return misread('q', 'Field required');
  const count = whole(fields.get('count'), RESULTS.min, RESULTS.max, RESULTS.max);
  if (count === undefined) return misread('count', 'Input should be an integer from 1 to 20');
  const offset = whole(fields.get('offset'), 0, OFFSET_MAX, 0);
  if (offset === undefined) return misread('offset', 'Input should be an integer from 0 to 9');
  const { query, domains } = plainQuery(text);
  const selection = { skip: offset * count, count, domains };
  return {
    search: {
      query,
      maxResults: resultsToAsk(selection),
      maxDescriptionLength: DESCRIPTION_LENGTH.min,
    },
    answer({ result }) {
      const results = selected(result.results, selection).map(({ title, url, description }) => ({
        type: 'search_result',
        subtype: 'generic',
        title,
        url,
        description,
        language: 'en',
        is_source_local: false,
        is_source_both: false,
        ...placeOf(url),
      }));
      const isFull = results.length === count && selection.skip + count < RESULTS.max;
      return {
        type: 'search',
        query: { original: fields.get('q') ?? '', more_results_available: isFull },
        web: { type: 'search', results },
      };
    },
  };
}

function whole(
  text: string | undefined,
  min: number,
  max: number,
  standard: number,
): number | undefined {
  if (text === undefined || text === '') return standard;
  const value = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function placeOf(url: string): object {
  const parsed = parseUrl(url);
  if (!parsed) return {};
  const { protocol, host, hostname, pathname } = parsed;
  return {
    profile: { name: hostname, url, long_name: hostname },
    meta_url: { scheme: protocol.slice(0, -1), netloc: host, hostname, path: pathname },
  };
}

/** Brave's status, code and component for a refusal; its own status and code for the others. */
const KINDS: Partial<Record<RefusalCode, readonly [number, string, string]>> = {
  invalid_api_key: [422, 'SUBSCRIPTION_TOKEN_INVALID', 'authentication'],
  insufficient_credits: [429, 'QUOTA_LIMITED', 'rate_limiter'],
  plan_restricted: [400, 'OPTION_NOT_IN_PLAN', 'subscriptions'],
  rate_limited: [429, 'RATE_LIMITED', 'rate_limiter'],
};

function refuse(refusal: Refusal, context: RefusalContext): FaceReply {
  if (refusal.code === 'missing_api_key') {
    return invalid(['header', 'x-subscription-token'], 'Field required', context);
  }
  if (refusal.status === 422) return invalid(['query', 'q'], refusal.detail, context);
  const [status, code, component] = KINDS[refusal.code] ?? [
    refusal.status,
    refusal.code.toUpperCase(),
    'search',
  ];
  const error = { code, detail: refusal.detail, meta: { component } };
  const reply = errorReply(status, error, context);
  return context.rate ? { ...reply, headers: rateHeaders(context.rate) } : reply;
}

/** The names in which Brave's clients look for their rate. */
function rateHeaders({
  limit,
  windowSeconds,
  remaining,
  resetSeconds,
}: NonNullable<RefusalContext['rate']>) {
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Policy': `${limit};w=${windowSeconds}`,
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(resetSeconds),
  };
}

function invalid(loc: readonly string[], msg: string, context: RefusalContext): FaceReply {
  const type = msg === 'Field required' ? 'missing' : 'value_error';
  const detail = 'Unable to validate request parameter(s)';
  const error = { code: 'VALIDATION', detail, meta: { errors: [{ type, loc, msg }] } };
  return errorReply(422, error, context);
}

function errorReply(
  status: number,
  error: { readonly code: string; readonly detail: string; readonly meta: object },
  { requestId, nowSeconds }: RefusalContext,
): FaceReply {
  return {
    status,
    body: {
      type: 'ErrorResponse',
      error: { id: requestId, status, ...error },
      time: nowSeconds,
    },
  };
}
