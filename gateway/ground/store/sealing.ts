import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from '../domain/ports.js';
import { StoreUnusable } from './store.js';

/**
 * Keeps secrets in the database so that a copy of the database does not give them away: AES-256-GCM
 * (NIST SP 800-38D) under a key that is not in it.
 */
export interface Sealing {
  /** @param name what the secret is for; it opens under the same name only. */
  seal(name: string, secret: string): string;
  /** @throws StoreUnusable when it was sealed with another key, for another name, or was changed. */
  open(name: string, sealed: string): string;
  /**
   * A secret of 32 bytes that follows from the key (HKDF, RFC 5869), so that every gateway with the
   * key has the same one, and nothing has to be kept.
   */
  derive(name: string): Uint8Array;
}

const VERSION = 'sealed1';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const DERIVED_BYTES = 32;
export const SEALING_KEY_BYTES = 32;

/**
 * @param keys the first one seals, all of them open: so a key can be replaced while gateways run.
 */
export function sealingWith(
  keys: readonly [Uint8Array, ...Uint8Array[]],
  random: Pick<Random, 'bytes'>,
): Sealing {
  if (keys.some(({ length }) => length !== SEALING_KEY_BYTES)) {
    throw new Error('a sealing key has 32 bytes');
  }
  const [key] = keys;
  return {
    derive: (name) => new Uint8Array(hkdfSync('sha256', key, '', name, DERIVED_BYTES)),
    seal(name, secret) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(name));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      const parts = [nonce, text, cipher.getAuthTag()];
      return `${VERSION}.${Buffer.concat(parts).toString('base64url')}`;
    },
    open(name, sealed) {
      const [version, body = ''] = sealed.split('.');
      const bytes = Buffer.from(body, 'base64url');
      if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES) throw unusable();
      for (const one of keys) {
        const secret = opened(one, name, bytes);
        if (secret !== undefined) return secret;
      }
      throw unusable();
    },
  };
}

/** Undefined unless it was sealed with this key for this name. */
function opened(key: Uint8Array, name: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

function unusable(): StoreUnusable {
  return new StoreUnusable(
    'the secrets in this database were sealed with another key. Give every gateway of this ' +
      'database the same SEALING_KEY_FILE, or put the old sealing.key back into DATA_DIR. If the ' +
      'key is lost, "npm run admin -- new-secrets" draws new ones: everyone then signs in again',
  );
}
