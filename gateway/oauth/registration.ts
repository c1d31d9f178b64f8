import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Random } from '../domain/ports.js';

/**
 * Draws the id of a client that registers, and first puts its registration right, which a server may
 * (RFC 7591, 2). Clients ask for the scopes of other services by habit and would be refused for them;
 * there is one scope here, and everyone gets it. Clients that name no way to authenticate are public:
 * sent a secret, some would use it and be refused for that.
 */
export function registrationId(random: Random): (context: KoaContextWithOIDC) => string {
  return ({ oidc }) => {
    const { body } = oidc;
    if (typeof body === 'object') {
      delete body.scope;
      body.token_endpoint_auth_method ??= 'none';
    }
    return random.uuid();
  };
}
