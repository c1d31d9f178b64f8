import { Router, type RequestHandler } from 'express';
import { consentRoutes, type ConsentParts } from './consent.js';
import { isOauthPath, ROUTES, SEARCH_SCOPE } from './provider.js';

/** The authorization server's endpoints and its consent page; on the face that has the console. */
export function oauthRoutes(parts: ConsentParts): Router {
  const { provider, issuer } = parts;
  const { protocol, host } = new URL(issuer);
  const serve = provider.callback();
  const router = Router();
  router.use((request, response, next) => {
    if (!isOauthPath(request.path)) {
      next();
      return;
    }
    asIssuer(request.headers, protocol, host);
    request.url = withDefaultScope(request.url);
    void serve(request, response);
  });
  router.use('/console/connect', (request, _response, next) => {
    asIssuer(request.headers, protocol, host);
    next();
  });
  router.use(consentRoutes(parts));
  return router;
}

/** Every address that the authorization server names is the issuer's, whoever forwarded to us. */
function asIssuer(headers: NodeJS.Dict<string | string[]>, protocol: string, host: string): void {
  headers['x-forwarded-proto'] = protocol.slice(0, -1);
  headers['x-forwarded-host'] = host;
}

/** A client that names no scope means the only one there is (RFC 6749, 3.3). */
function withDefaultScope(url: string): string {
  if (!url.startsWith(`${ROUTES.authorization}?`) || /[?&]scope=/.test(url)) return url;
  return `${url}&scope=${SEARCH_SCOPE}`;
}

/** Describes the protected resource (RFC 9728), so that a client finds where to sign in. */
export function resourceMetadataRoute(resource: string, issuer: string): RequestHandler {
  const metadata = {
    resource,
    authorization_servers: [issuer],
    scopes_supported: [SEARCH_SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'search402 web search',
  };
  return (_request, response) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Cache-Control', 'public, max-age=3600');
    response.json(metadata);
  };
}
