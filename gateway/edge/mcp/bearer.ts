import type { Refusal } from '../../ground/domain/refusal.js';
import { KEY_PREFIX } from '../../customers/keys/format.js';
import type { Caller } from '../../customers/keys/caller.js';
import type { McpRouteParts } from './route.js';

export interface BearerParts {
  /** Checks the value of an Authorization header that holds an API key, or nothing usable. */
  readonly key: (authorization: string, address: string) => Promise<Caller | Refusal>;
  /** Checks an access token that must have been issued for `resource`. */
  readonly token: (token: string, resource: string) => Promise<Caller | Refusal>;
}

/** Our own access tokens: 43 characters, as `oidc-provider` draws them. */
const TOKEN_SHAPE = /^[\w-]{43}$/;
/** Those of other servers: three or more parts of base64url between dots (RFC 7519, 3). */
const JWT_SHAPE = /^[\w-]+(?:\.[\w-]*){2,}$/;

/**
 * Tells an API key from an access token by its shape, before anything of OAuth looks at it: a key
 * must never be refused as a bad token, nor a token be tried as a key. What looks like neither is
 * called a key, because a person pasted it: part of ours, or one of another service.
 */
export function bearerAuthenticator(parts: BearerParts): McpRouteParts['authenticate'] {
  return (authorization, { address, resource }) => {
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    return token !== undefined && isToken(token)
      ? parts.token(token, resource)
      : parts.key(authorization, address);
  };
}

function isToken(text: string): boolean {
  return !text.startsWith(KEY_PREFIX) && (TOKEN_SHAPE.test(text) || JWT_SHAPE.test(text));
}
