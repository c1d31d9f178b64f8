import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';
import type { SearchRequest } from '../../search-core/contract.js';
import type { Random } from '../ground/domain/ports.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import { bindingOf, canonicalRequest } from './binding.js';

/**
 * In what form the books keep what was asked and answered. Replies are kept so that whoever has
 * paid can fetch them again; whoever does sends the same request.
 */
export interface Keeping {
  /** What an authorization, or an `Idempotency-Key`, is bound to. */
  bindingOf(request: SearchRequest): RequestBinding;
  /** A reply as it is stored. */
  store(body: Uint8Array, request: SearchRequest): Uint8Array;
  /** A stored reply as it is sent; `request` is the one that it answers. */
  recall(stored: Uint8Array, request: SearchRequest): Uint8Array;
}

/** As it is: `RETENTION=on`. */
export const keptOpen: Keeping = {
  bindingOf,
  store: (body) => body,
  recall: (stored) => stored,
};

/** No JSON begins with it. */
const MARK = Buffer.from('\0sealed1');
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Whether a stored reply can be read by those only who know what was asked. */
export function isSealed(stored: Uint8Array): boolean {
  return Buffer.from(stored.subarray(0, MARK.length)).equals(MARK);
}

/**
 * `RETENTION=off`: a reply is sealed (AES-256-GCM, NIST SP 800-38D) with a key that only the request
 * and `secret` give together, and a request is known by a keyed hash. The secret is not in the
 * database, so a copy of it neither tells the query nor lets anybody try guesses.
 */
export function keptSealed(secret: Uint8Array, random: Pick<Random, 'bytes'>): Keeping {
  const derive = (purpose: string, request: SearchRequest) =>
    createHmac('sha256', secret).update(`${purpose}\n${canonicalRequest(request)}`);
  const keyOf = (request: SearchRequest) => derive('reply', request).digest();
  return {
    bindingOf: (request) => `0x${derive('binding', request).digest('hex')}`,
    store: (body, request) => {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, keyOf(request), nonce);
      const text = [cipher.update(body), cipher.final()];
      return Buffer.concat([MARK, nonce, ...text, cipher.getAuthTag()]);
    },
    recall: (stored, request) => {
      // What was kept before the setting was changed.
      if (!isSealed(stored)) return stored;
      const sealed = stored.subarray(MARK.length);
      const decipher = createDecipheriv(CIPHER, keyOf(request), sealed.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]);
    },
  };
}
