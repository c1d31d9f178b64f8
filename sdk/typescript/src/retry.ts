import type { Runtime } from './runtime.js';

/** A server that asks for more patience than this is not retried; the error tells how long. */
const RETRY_AFTER_SECONDS_MAX = 60;
const FIRST_DELAY_MS = 500;
const DELAY_MS_MAX = 8_000;
const JITTER = 0.25;

/** Request Timeout, Too Many Requests, and every server error (service specification, Errors). */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status <= 599);
}

/**
 * Seconds that the server asks to wait, never negative; undefined when it does not say.
 * `Retry-After-Ms` goes first, which some gateways send for waits below a second; then
 * `Retry-After`: a number or an HTTP date (RFC 9110, 10.2.3).
 */
export function retryAfterSeconds(headers: Headers, nowMs: number): number | undefined {
  const milliseconds = headers.get('retry-after-ms')?.trim() ?? '';
  if (/^[0-9]{1,12}(\.[0-9]{1,6})?$/.test(milliseconds)) return Number(milliseconds) / 1000;
  const text = headers.get('retry-after')?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000));
}

/**
 * Milliseconds to wait before retry number `retry` (0 is the first), or undefined when the server
 * asked for too long a wait. Half a second, doubled each time up to 8 s, less up to a quarter.
 */
export function retryDelayMs(
  retry: number,
  afterSeconds: number | undefined,
  runtime: Runtime,
): number | undefined {
  if (afterSeconds !== undefined) {
    return afterSeconds <= RETRY_AFTER_SECONDS_MAX ? afterSeconds * 1000 : undefined;
  }
  const delay = Math.min(FIRST_DELAY_MS * 2 ** retry, DELAY_MS_MAX);
  return Math.round(delay * (1 - JITTER * runtime.random()));
}
