import { apiError, PaymentRequiredError, ProtocolError, type ApiError } from './errors.js';
import { clockComplaint } from './clock.js';
import { isObject } from './payment/base64.js';
import { quoteOf, type Challenge } from './payment/challenge.js';
import { readReceipt } from './payment/verdict.js';
import { retryAfterSeconds } from './retry.js';
import type { Answer } from './transport.js';
import type { SearchResponse } from './types.js';

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The `code` of an error answer, if it is one of the service's form: its body repeats the status. */
export function codeOf(answer: Answer): string | undefined {
  const body = parseJson(answer.text);
  if (!isObject(body) || body.status !== answer.status) return undefined;
  return typeof body.code === 'string' ? body.code : undefined;
}

function isSearchResponse(value: unknown): value is SearchResponse {
  if (!isObject(value) || typeof value.requestId !== 'string') return false;
  const { result } = value;
  if (!isObject(result) || !Array.isArray(result.results)) return false;
  const items: readonly unknown[] = result.results;
  return (
    isObject(result.searchMetadata) &&
    typeof result.totalResults === 'number' &&
    items.every(
      (item) =>
        isObject(item) &&
        typeof item.title === 'string' &&
        typeof item.url === 'string' &&
        typeof item.description === 'string',
    )
  );
}

/** @throws {ProtocolError} when a 200 does not hold a search response */
export function readSearchResponse(answer: Answer): SearchResponse {
  const body = parseJson(answer.text);
  if (isSearchResponse(body)) return body;
  throw new ProtocolError('the reply has status 200 but is not a search response');
}

/** The typed error for an answer that is not a 200. */
export function errorOf(answer: Answer, challenge: Challenge | undefined, nowMs: number): ApiError {
  const { status, headers, text } = answer;
  const body = parseJson(text) ?? text;
  const field = (name: string) => {
    const value = isObject(body) ? body[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  const error = apiError({
    status,
    headers,
    body,
    code: field('code'),
    title: field('title'),
    detail: field('detail'),
    requestId: field('requestId') ?? headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterSeconds(headers, nowMs),
  });
  if (error instanceof PaymentRequiredError) {
    const reason = readReceipt(headers)?.reason ?? challenge?.error;
    if (reason !== undefined) error.reason = reason;
    const first = challenge?.requirements[0];
    if (first) error.quote = quoteOf(first);
  }
  const complaint = isAboutTime(error) ? clockComplaint(headers, nowMs) : undefined;
  if (complaint !== undefined) error.message += ` ${complaint}`;
  return error;
}

/** Whether a clock that is wrong may be why: a window that has passed or lies far ahead. */
function isAboutTime(error: ApiError): boolean {
  if (error.code === 'invalid_payment_proof') return true;
  return error instanceof PaymentRequiredError && /valid_(after|before)/.test(error.reason ?? '');
}
