import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { referenceRoutes } from './console/reference/routes.js';
import type { Log, Random } from '../ground/domain/ports.js';
import { refuse, type Refusal } from '../ground/domain/refusal.js';
import { createCors } from './http/cors.js';
import { nameHome, sendRefusal } from './http/error-reply.js';
import { expectedRefusal, INTERNAL_ERROR } from './http/failure.js';
import type { HealthRoutes } from './http/ops.js';
import { openApiRoute } from './http/openapi-route.js';
import { assignRequestId, requestIdOf } from './http/request-id.js';
import {
  methodNotAllowed,
  notFound,
  searchRoute,
  type SearchRouteParts,
} from './http/search-route.js';

export interface AppParts extends SearchRouteParts {
  readonly random: Random;
  readonly log: Log;
  /** Whether callers reach the service by https, whatever reaches this process. */
  readonly isHttps: boolean;
  /** Where the console and the documentation are, without a path. */
  readonly homeUrl: string;
  /** Proxies in front of the service whose `X-Forwarded-For` is believed; 0 believes nobody. */
  readonly trustedProxies: number;
  readonly health: HealthRoutes;
  /** Further routes of this face, after the search and before the 404. */
  readonly routes?: RequestHandler;
}

/** One face of the service: its routes, and the order of what happens to a request. */
export function createApp(parts: AppParts): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.enable('case sensitive routing').enable('strict routing');
  app.set('trust proxy', parts.trustedProxies);

  app.use(assignRequestId(parts.random));
  app.use((_request, response, next) => {
    nameHome(response, parts.homeUrl);
    next();
  });
  app.use(harden(parts.isHttps));
  app.get('/livez', parts.health.live);
  app.get('/readyz', parts.health.ready);
  app.get('/readyz/payments', parts.health.readyForPayments);
  app.use('/openapi.json', createCors('GET'));
  app.get('/openapi.json', openApiRoute());
  app.use(referenceRoutes(parts.homeUrl));
  app.use('/search', createCors('POST'));
  app.post('/search', searchRoute(parts));
  app.all('/search', methodNotAllowed);
  if (parts.routes) app.use(parts.routes);
  app.use(notFound);
  app.use(handleBug(parts.log));
  return app;
}

/** RFC 6797: for a year, browsers come by https alone. */
const STRICT_TRANSPORT = 'max-age=31536000';

function harden(isHttps: boolean): RequestHandler {
  return (request, response, next) => {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    // `secure` is what a trusted proxy says, and only that.
    if (isHttps || request.secure) {
      response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT);
    }
    next();
  };
}

/** The one place where an exception becomes a reply. */
function handleBug(log: Log): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const requestId = requestIdOf(response);
    const refusal = refusalOf(error);
    if (refusal && !response.headersSent) {
      sendRefusal(response, refusal, requestId);
      return;
    }
    log.error({ err: error, requestId }, 'a request failed by a bug');
    if (response.headersSent) response.destroy();
    else sendRefusal(response, INTERNAL_ERROR, requestId);
  };
}

/** Errors that are no bugs: a path that cannot be decoded, and a database out of reach. */
function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof URIError) {
    return refuse('malformed_request', 'The path isn’t valid.');
  }
  return expectedRefusal(error);
}
