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

const homes = new WeakMap<ServerResponse, string>();

/** Says where the console and the documentation are: a reply that nobody can use names them. */
export function nameHome(response: ServerResponse, homeUrl: string): void {
  homes.set(response, homeUrl);
}

/** A 401 leads to where keys are made, and a 404 to where it says what there is (RFC 8288). */
function placed(response: ServerResponse, refusal: Refusal): Refusal {
  const home = homes.get(response);
  if (home === undefined) return refusal;
  if (refusal.code === 'missing_api_key' || refusal.code === 'invalid_api_key') {
    response.setHeader(
      'Link',
      `<${home}/console/keys>; rel="help", <${home}/docs>; rel="service-doc"`,
    );
    return { ...refusal, detail: `${refusal.detail} Keys are made at ${home}/console/keys.` };
  }
  if (refusal.code !== 'not_found') return refusal;
  response.setHeader(
    'Link',
    `<${home}/docs>; rel="service-doc", <${home}/openapi.json>; rel="service-desc"`,
  );
  return { ...refusal, detail: `${refusal.detail} The documentation is at ${home}/docs.` };
}

/** The one place that writes an error to a caller; headers that say more are set before. */
export function sendRefusal(response: ServerResponse, given: Refusal, requestId: string): void {
  const refusal = placed(response, given);
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
