import { createHash } from 'node:crypto';
import type { Address, Hex } from '../domain/units.js';
import type { CheckedAuthorization } from './authorization.js';

/**
 * A payer's name for one purchase (x402 extension `payment-identifier`). The same payer with the
 * same identifier and the same fingerprint means the purchase that was made before, also under a
 * new authorization; with another fingerprint it is a conflict (409).
 */
export interface PurchaseIdentifier {
  /** Identifiers are the payer's own: another payer may use the same one for something else. */
  readonly payer: Address;
  readonly id: string;
  /** SHA-256 over what is bought: method, path and body, the payee, and the amount. */
  readonly fingerprint: Hex;
}

/**
 * What a payment with an identifier stands for. `binding` is the hash of method, path and request.
 *
 * Undefined for a payment that has no identifier, and for one whose payer only the chain can
 * confirm: until then anybody could name the payer and fetch its reply.
 */
export function purchaseIdentifier(
  authorization: CheckedAuthorization,
  id: string | undefined,
  binding: Hex,
): PurchaseIdentifier | undefined {
  const { signedBy, from, to, value } = authorization;
  if (id === undefined || signedBy !== 'key') return undefined;
  const bought = [binding, to, value].join('\n');
  const fingerprint: Hex = `0x${createHash('sha256').update(bought).digest('hex')}`;
  return { payer: from, id, fingerprint };
}
