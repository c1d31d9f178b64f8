import type { ServerResponse } from 'node:http';
import type { Refusal } from '../../ground/domain/refusal.js';
import { sendText } from './encoding.js';

/** The specification's titles, one a status. */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Invalid Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Payload Too Large',
  415: 'Unsupported Media',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** The specification's ErrorResponse, closed. */
export interface ErrorResponse {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly requestId: string;
  readonly code: string;
}

export function errorResponse(refusal: Refusal, requestId: string): ErrorResponse {
  const { status, code } = refusal;
  const wait = refusal.retryAfterSeconds;
  const detail =
    wait === undefined ? refusal.detail : `${refusal.detail} Retry after ${seconds(wait)}.`;
  return { title: TITLES[status] ?? 'Error', status, detail, requestId, code };
}

function seconds(count: number): string {
  return count === 1 ? '1 second' : `${count} seconds`;
}

/** The one place that writes an error to a caller; headers that say more are set before. */
export function sendRefusal(response: ServerResponse, refusal: Refusal, requestId: string): void {
  if (refusal.retryAfterSeconds !== undefined) {
    response.setHeader('Retry-After', String(refusal.retryAfterSeconds));
  }
  if (refusal.status === 401) {
    const scheme = refusal.code === 'invalid_payment_proof' ? 'PAYMENT-PROOF' : 'Bearer';
    response.setHeader('WWW-Authenticate', `${scheme} realm="search402"`);
  }
  response.setHeader('Cache-Control', 'no-store');
  sendJson(
    response,
    refusal.status,
    Buffer.from(JSON.stringify(errorResponse(refusal, requestId))),
  );
}

/** Ends a reply with JSON, compressed where the caller accepts it; the bytes stay what they are. */
export function sendJson(response: ServerResponse, status: number, body: Uint8Array): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json');
  sendText(response, body);
}
