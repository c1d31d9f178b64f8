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

/**
 * Tells an API key from an access token by its prefix, before anything of OAuth looks at it: a key
 * must never be refused as a bad token, nor a token be tried as a key.
 */
export function bearerAuthenticator(parts: BearerParts): McpRouteParts['authenticate'] {
  return (authorization, { address, resource }) => {
    const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (token === undefined || token.startsWith(KEY_PREFIX))
      return parts.key(authorization, address);
    return parts.token(token, resource);
  };
}
