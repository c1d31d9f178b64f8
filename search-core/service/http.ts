import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  DESCRIPTION_LENGTH,
  QUERY_WORDS_MAX,
  queryWords,
  RESULTS,
  type SearchRequest,
} from '../contract.js';

/** Why a request is not answered: an ErrorResponse in the making. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly code: string;
  readonly detail: string;
}

/** A query of 50 words and its fields fit many times over. */
export const BODY_BYTES_MAX = 64 * 1024;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The caller's `X-Request-Id` if it is a UUID, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && UUID.test(given) ? given : randomUUID();
}

export function sendJson(
  response: ServerResponse,
  status: number,
  requestId: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    'x-request-id': requestId,
    ...headers,
  });
  response.end(bytes);
}

export function sendProblem(
  response: ServerResponse,
  requestId: string,
  { status, title, code, detail }: Problem,
  headers: Readonly<Record<string, string>> = {},
): void {
  sendJson(response, status, requestId, { title, status, detail, requestId, code }, headers);
}

const problem = (status: number, title: string, code: string, detail: string): Problem => ({
  status,
  title,
  code,
  detail,
});

/** Reads the body up to the limit; a longer one is refused without being kept. */
export async function readBody(request: IncomingMessage): Promise<Buffer | Problem> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) {
      const detail = `The body may have ${BODY_BYTES_MAX} bytes at most.`;
      return problem(413, 'Payload Too Large', 'payload_too_large', detail);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const FIELDS = ['query', 'maxResults', 'maxDescriptionLength'];

/** Parses a SearchRequest: closed, with the contract's bounds and defaults. */
export function parseSearchRequest(body: Buffer): SearchRequest | Problem {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return problem(400, 'Invalid Request', 'invalid_json', 'The body is not JSON.');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return problem(400, 'Invalid Request', 'invalid_json', 'The body is not a JSON object.');
  }
  const unknown = Object.keys(json).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    const detail = `The parameter ${JSON.stringify(unknown)} is not supported.`;
    return unprocessable('unsupported_parameter', detail);
  }
  const { query, maxResults, maxDescriptionLength } = json as Record<string, unknown>;
  if (typeof query !== 'string') return invalid('query must be a string');
  const wordCount = queryWords(query).length;
  if (wordCount < 1 || wordCount > QUERY_WORDS_MAX) {
    return invalid(`query must have 1 to ${QUERY_WORDS_MAX} words; it has ${wordCount}`);
  }
  const results = bounded('maxResults', maxResults, RESULTS);
  if (typeof results !== 'number') return results;
  const length = bounded('maxDescriptionLength', maxDescriptionLength, DESCRIPTION_LENGTH);
  if (typeof length !== 'number') return length;
  return { query, maxResults: results, maxDescriptionLength: length };
}

function bounded(
  name: string,
  value: unknown,
  bounds: { readonly min: number; readonly max: number; readonly default: number },
): number | Problem {
  if (value === undefined) return bounds.default;
  const inside =
    typeof value === 'number' &&
    Number.isInteger(value) &&
    value >= bounds.min &&
    value <= bounds.max;
  return inside ? value : invalid(`${name} must be an integer from ${bounds.min} to ${bounds.max}`);
}

function unprocessable(code: string, detail: string): Problem {
  return problem(422, 'Unprocessable Content', code, detail);
}

function invalid(detail: string): Problem {
  return unprocessable('invalid_parameter', `${detail}.`);
}

export const NOT_FOUND = problem(404, 'Not Found', 'not_found', 'There is nothing at this path.');
export const METHOD_NOT_ALLOWED = problem(
  405,
  'Method Not Allowed',
  'method_not_allowed',
  'Use POST.',
);
export const UNSUPPORTED_MEDIA = problem(
  415,
  'Unsupported Media',
  'unsupported_media_type',
  'Set Content-Type: application/json.',
);
export const OVERLOADED = problem(
  503,
  'Service Unavailable',
  'overloaded',
  'Too many searches are waiting. Try again shortly.',
);
export const UNAVAILABLE = problem(
  503,
  'Service Unavailable',
  'unavailable',
  'The index cannot be searched now. Try again shortly.',
);
export const DRAINING = problem(
  503,
  'Service Unavailable',
  'shutting_down',
  'The service is shutting down. Try again shortly.',
);
export const INTERNAL = problem(
  500,
  'Internal Error',
  'internal_error',
  'The search failed for a reason that is not yours.',
);
