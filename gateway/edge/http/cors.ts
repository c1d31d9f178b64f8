import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';

/** `Date` as well: pages whose clock is wrong sign payments by the server's. */
const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
  'X-Request-Id',
  'Index-Generation',
  'Unencoded-Digest',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'WWW-Authenticate',
  'Link',
  'Date',
].join(', ');

/** What a preflight without a list gets; Safari sends none for headers that it always allows. */
const USUAL =
  'Authorization, Content-Type, Idempotency-Key, PAYMENT-PROOF, PAYMENT-SIGNATURE, X-PAYMENT, ' +
  'X-Request-Id';

/** Names of header fields with commas between them (RFC 9110, 5.1 and 5.6.1). */
const FIELD_NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z, \t-]{1,2048}$/;

/**
 * The `Access-Control-Allow-Headers` of a preflight: whatever it asks for. Official x402 clients send
 * `Access-Control-Expose-Headers`, tracers `traceparent`, generated SDKs a dozen of their own. A
 * header that means nothing here is not looked at, and a cookie never is.
 */
export function allowedHeaders(request: IncomingMessage): string {
  const asked = request.headers['access-control-request-headers'];
  return typeof asked === 'string' && FIELD_NAMES.test(asked) ? asked : USUAL;
}

/** Lets pages of any origin read a reply and its headers. Only where no cookie is looked at. */
export function showToPages(response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
}

/** Whether a browser asks, for a page, what the page may send (Fetch standard, 4.9). */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && 'access-control-request-method' in headers;
}

/** Seconds for which a browser remembers what a preflight said; no browser takes more. */
const REMEMBERED_SECONDS = 86_400;

/** Ends the reply to a preflight. `methods` as in `Access-Control-Allow-Methods`. */
export function answerPreflight(
  request: IncomingMessage,
  response: ServerResponse,
  methods: string,
): void {
  response.setHeader('Access-Control-Allow-Methods', methods);
  response.setHeader('Access-Control-Allow-Headers', allowedHeaders(request));
  response.setHeader('Access-Control-Max-Age', String(REMEMBERED_SECONDS));
  response.appendHeader('Vary', 'Access-Control-Request-Headers');
  response.statusCode = 204;
  response.end();
}

/**
 * Lets pages of any origin call a route: no cookie is ever looked at there. A preflight is answered;
 * any other OPTIONS request goes on, and is a 405 on `/search` as specified.
 */
export function createCors(methods: 'GET' | 'POST' | 'GET, POST' | 'DELETE'): RequestHandler {
  return (request, response, next) => {
    showToPages(response);
    if (isPreflight(request)) answerPreflight(request, response, methods);
    else next();
  };
}
