import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Random } from '../../ground/domain/ports.js';
import { errors } from './oidc-provider.js';

/** The types of grant there are here, which a client that names none gets. */
export const GRANT_TYPES: readonly string[] = ['authorization_code', 'refresh_token'];

/** Bytes of what a client says of itself: a name, addresses and a logo's take a few hundred. */
export const METADATA_BYTES_MAX = 4096;

/**
 * Draws the id of a client that registers, and first puts its registration right, which a server may
 * (RFC 7591, 2). Clients ask for the scopes of other services by habit and would be refused for them;
 * there is one scope here, and everyone gets it. They list every type of grant they know, too: those
 * that are not offered here are left out. Clients that name no way to authenticate are public:
 * sent a secret, some would use it and be refused for that.
 *
 * @throws InvalidClientMetadata where it says more than is kept of a stranger.
 */
export function registrationId(random: Random): (context: KoaContextWithOIDC) => string {
  return ({ oidc }) => {
    const { body } = oidc;
    if (Buffer.byteLength(JSON.stringify(body)) > METADATA_BYTES_MAX) {
      throw new errors.InvalidClientMetadata(TOO_LONG);
    }
    if (typeof body === 'object') {
      delete body.scope;
      body.token_endpoint_auth_method ??= 'none';
      if (Array.isArray(body.grant_types)) body.grant_types = offered(body.grant_types);
    }
    return random.uuid();
  };
}

/** What is offered of the types of grant that a client lists; undefined, for the default, if nothing is. */
function offered(types: readonly unknown[]): readonly unknown[] | undefined {
  const left = types.filter((type) => typeof type !== 'string' || GRANT_TYPES.includes(type));
  return left.length === 0 ? undefined : left;
}

export const TOO_LONG = `a registration may have at most ${METADATA_BYTES_MAX} bytes`;
