import type OidcProvider from 'oidc-provider';
import type { Configuration, ResourceServer } from 'oidc-provider';
import type { Clock, Log, Random } from '../../ground/domain/ports.js';
import type { Sealing } from '../../ground/store/sealing.js';
import type { Store } from '../../ground/store/store.js';
import { pageText } from '../console/page.js';
import { DOCUMENT_BYTES_MAX, documentFetch } from './documents.js';
import { errors, Provider } from './oidc-provider.js';
import { errorPage, PAGE_POLICY } from './pages.js';
import { recordAdapter } from './records.js';
import { GRANT_TYPES, registrationId } from './registration.js';
import { oauthSecrets, type OauthSecrets } from './secrets.js';

export interface AuthorizationServerParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Keeps its own keys in the database. */
  readonly sealing: Sealing;
  /** The origin at which people reach the console: the issuer. */
  readonly issuer: string;
  /** The addresses that tokens may be asked for; the first is meant when none is named. */
  readonly resources: readonly [string, ...string[]];
  /**
   * Whether a client may be described at an address of this machine or of a private network: on a
   * development start only.
   */
  readonly reachesPrivate: boolean;
}

/** The one thing that a token allows. */
export const SEARCH_SCOPE = 'search';
/** The page that asks the person; under the path of the console's session cookie. */
export const CONSENT_PATH = '/console/connect';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Seconds. A client that is not used for as long as a refresh token lives has to ask again. */
const TTL = {
  AuthorizationCode: MINUTE,
  AccessToken: HOUR,
  Interaction: HOUR,
  RefreshToken: 30 * DAY,
  Grant: 365 * DAY,
  Session: HOUR,
} as const;

/**
 * How long a client's own description is kept, within what its Cache-Control says: long enough for
 * one sign-in to ask for it once, short enough for a change to be seen the next day.
 */
const DOCUMENT_CACHE_SECONDS = { min: 5 * MINUTE, max: DAY } as const;

/** Where the endpoints are. */
export const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
} as const;

/** The paths that belong to the authorization server. */
export function isOauthPath(path: string): boolean {
  return (
    path.startsWith('/oauth/') ||
    path === '/.well-known/oauth-authorization-server' ||
    path === '/.well-known/openid-configuration'
  );
}

/**
 * The OAuth 2.1 authorization server: authorization code with PKCE for public clients that register
 * by themselves (RFC 7591) or are described at their own address (client-id metadata documents),
 * tokens for one resource (RFC 8707), `iss` in every response (RFC 9207), refresh tokens that
 * rotate, revocation (RFC 7009), metadata (RFC 8414).
 */
export async function openAuthorizationServer(
  parts: AuthorizationServerParts,
): Promise<OidcProvider> {
  const secrets = await oauthSecrets(parts.store, parts.clock, parts.random, parts.sealing);
  const provider = new Provider(parts.issuer, configuration(parts, secrets));
  // Addresses are built from the issuer: `mountOauth` writes it into the forwarded headers.
  provider.proxy = true;
  provider.on('server_error', (_context, error) => {
    parts.log.error({ err: error }, 'the authorization server failed');
  });
  return provider;
}

function configuration(parts: AuthorizationServerParts, secrets: OauthSecrets): Configuration {
  return {
    adapter: recordAdapter(parts.store, parts.clock),
    jwks: secrets.jwks,
    cookies: { keys: [secrets.cookieKey], names: cookieNames() },
    routes: ROUTES,
    ttl: TTL,
    responseTypes: ['code'],
    scopes: [SEARCH_SCOPE, 'offline_access'],
    pkce: { required: () => true },
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      // Most clients run on the person's machine and do not say so. Native ones may come back to a
      // scheme of their own, and to any port of it (RFC 8252, 7.1 and 7.3): clients register or
      // describe "http://localhost/callback" and listen on whatever port is free.
      application_type: 'native',
      grant_types: [...GRANT_TYPES],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    // Pages of any origin may read what these endpoints answer: none of them looks at a cookie.
    clientBasedCORS: () => true,
    fetch: documentFetch(parts.reachesPrivate),
    fetchResponseBodyLimits: {
      'client_id metadata document': DOCUMENT_BYTES_MAX,
      jwks_uri: DOCUMENT_BYTES_MAX,
      sector_identifier_uri: DOCUMENT_BYTES_MAX,
    },
    interactions: { url: (_context, { uid }) => `${CONSENT_PATH}/${uid}` },
    // Only what was consented to in this very authorization counts.
    loadExistingGrant: ({ oidc }) => {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? Promise.resolve(undefined) : oidc.provider.Grant.find(grantId);
    },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    issueRefreshToken: (_context, client) =>
      Promise.resolve(client.grantTypeAllowed('refresh_token')),
    rotateRefreshToken: true,
    expiresWithSession: () => Promise.resolve(false),
    renderError: (context, out) => {
      context.type = 'html';
      context.set('Content-Security-Policy', PAGE_POLICY);
      context.body = pageText(errorPage(out.error, out.error_description));
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      registration: {
        enabled: true,
        issueRegistrationAccessToken: false,
        idFactory: registrationId(parts.random),
      },
      revocation: {
        enabled: true,
        allowedPolicy: (_context, client, token) => token.clientId === client.clientId,
      },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        cacheDuration: DOCUMENT_CACHE_SECONDS,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => parts.resources[0],
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => resourceServer(parts.resources, resource),
      },
    },
  };
}

function cookieNames() {
  return { interaction: 's402_connect', resume: 's402_resume', session: 's402_oauth' };
}

function resourceServer(resources: readonly string[], resource: string): ResourceServer {
  if (!resources.includes(resource)) throw new errors.InvalidTarget();
  return {
    audience: resource,
    scope: SEARCH_SCOPE,
    // Opaque, so that a revoked token is refused at once and not when it lapses.
    accessTokenFormat: 'opaque',
    accessTokenTTL: TTL.AccessToken,
  };
}
