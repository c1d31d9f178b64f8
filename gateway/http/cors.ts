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

const ALLOWED = 'Authorization, Content-Type, PAYMENT-SIGNATURE, X-PAYMENT, X-Request-Id';

/**
 * Lets pages of any origin call the service: no cookie is ever looked at here. A preflight (Fetch
 * standard, 4.9) is answered; any other OPTIONS request goes on and is a 405 as specified.
 */
export const cors: RequestHandler = (request, response, next) => {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  const isPreflight =
    request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
  if (!isPreflight) {
    next();
    return;
  }
  response.setHeader('Access-Control-Allow-Methods', 'POST');
  response.setHeader('Access-Control-Allow-Headers', ALLOWED);
  response.setHeader('Access-Control-Max-Age', '86400');
  response.status(204).end();
};
