import { Router, type RequestHandler } from 'express';
import type { Clock } from '../../ground/domain/ports.js';
import { countedNames } from '../../customers/limits/address.js';
import { Windows } from '../../customers/limits/windows.js';
import { createCors } from '../http/cors.js';
import { consentRoutes, type ConsentParts } from './consent.js';
import { CONSENT_PATH, isOauthPath, ROUTES, SEARCH_SCOPE } from './provider.js';
import { METADATA_BYTES_MAX, TOO_LONG } from './registration.js';

export interface OauthRouteParts extends ConsentParts {
  readonly clock: Clock;
}

/** The authorization server's endpoints and its consent page; on the face that has the console. */
export function oauthRoutes(parts: OauthRouteParts): Router {
  const { provider, issuer } = parts;
  const { protocol, host } = new URL(issuer);
  const serve = provider.callback();
  const router = Router();
  // The authorization server answers the preflights of its other endpoints itself.
  router.all(ROUTES.registration, createCors('POST'));
  router.use('/oauth', boundedTries(parts.clock, TRIES));
  router.post(ROUTES.registration, boundedMetadata, boundedTries(parts.clock, REGISTRATIONS));
  router.use((request, response, next) => {
    const isOurs = isOauthPath(request.path);
    // Every address that the authorization server names is the issuer's, whoever forwarded to us.
    if (isOurs || request.path.startsWith(`${CONSENT_PATH}/`)) {
      request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
      request.headers['x-forwarded-host'] = host;
    }
    if (!isOurs) {
      next();
      return;
    }
    request.url = withOwnScope(request.url);
    serve(request, response).catch(next);
  });
  router.use(consentRoutes(parts));
  return router;
}

/**
 * Whatever a client asks for, it gets the one scope there is, and is told so with its token (RFC
 * 6749, 3.3). Clients ask for none, for all that are listed, or for those of other services.
 */
function withOwnScope(url: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  if (path !== ROUTES.authorization) return url;
  const params = new URLSearchParams(query);
  params.set('scope', SEARCH_SCOPE);
  return `${path}?${params.toString()}`;
}

/** Requests of one address, or /64, in a window; of larger IPv6 prefixes more, but not many times. */
interface Bound {
  readonly perAddress: number;
  readonly windowMs: number;
}

const TRIES: Bound = { perAddress: 120, windowMs: 60_000 };
/** Anyone can register, and what is registered is kept for an hour. */
const REGISTRATIONS: Bound = { perAddress: 60, windowMs: 3_600_000 };
const NAMES_MAX = 20_000;

/** Bounds what one address may ask of the authorization server. */
function boundedTries(clock: Clock, { perAddress, windowMs }: Bound): RequestHandler {
  const tries = new Windows(windowMs, NAMES_MAX);
  return (request, response, next) => {
    const windows = countedNames(request.ip ?? '').map(({ name, share }) =>
      tries.get(name, Math.ceil(perAddress * share)),
    );
    const nowMs = clock.monotonicMs();
    const waitMs = Math.max(...windows.map((window) => window.waitMs(nowMs)));
    if (waitMs === 0) {
      for (const window of windows) window.take(nowMs);
      next();
      return;
    }
    response.setHeader('Retry-After', String(Math.ceil(waitMs / 1000)));
    const error_description = 'Too many requests from this address. Wait and try again.';
    response.status(429).json({ error: 'temporarily_unavailable', error_description });
  };
}

/** Refuses a long registration before it is read; one of unknown length is measured when parsed. */
const boundedMetadata: RequestHandler = (request, response, next) => {
  if (Number(request.headers['content-length'] ?? 0) <= METADATA_BYTES_MAX) {
    next();
    return;
  }
  response.setHeader('Connection', 'close');
  response.status(400).json({ error: 'invalid_client_metadata', error_description: TOO_LONG });
};

/** Describes the protected resource (RFC 9728), so that a client finds where to sign in. */
export function resourceMetadata(resource: string, issuer: string): object {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: [SEARCH_SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'search402 web search',
  };
}
