import type { RequestHandler } from 'express';

/** `Date` as well: pages whose clock is wrong sign payments by the server's. */
const EXPOSED = [
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
  'X-Request-Id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Date',
].join(', ');

/** What a preflight allows. */
interface CorsRules {
  /** As in `Access-Control-Allow-Methods`. */
  readonly methods: string;
  /** As in `Access-Control-Allow-Headers`. */
  readonly headers: string;
}

/**
 * Lets pages of any origin call the service: no cookie is ever looked at here. A preflight (Fetch
 * standard, 4.9) is answered; any other OPTIONS request goes on and is a 405 as specified.
 */
export function createCors({ methods, headers }: CorsRules): RequestHandler {
  return (request, response, next) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    const isPreflight =
      request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    if (!isPreflight) {
      next();
      return;
    }
    response.setHeader('Access-Control-Allow-Methods', methods);
    response.setHeader('Access-Control-Allow-Headers', headers);
    response.setHeader('Access-Control-Max-Age', '86400');
    response.status(204).end();
  };
}

/** For `/search`. */
export const cors = createCors({
  methods: 'POST',
  headers:
    'Authorization, Content-Type, Idempotency-Key, PAYMENT-SIGNATURE, X-PAYMENT, X-Request-Id',
});
