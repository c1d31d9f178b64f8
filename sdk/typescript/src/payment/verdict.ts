import { ERROR_CODES } from '../errors.js';
import type { Answer } from '../transport.js';
import { decodeJson, isObject } from './base64.js';

/** PAYMENT-RESPONSE, read. */
export interface Receipt {
  readonly success: boolean;
  /** Empty when there is none. */
  readonly transaction: string;
  readonly reason: string | undefined;
}

/** Reads the receipt; undefined when there is none that can be read. */
export function readReceipt(headers: Headers): Receipt | undefined {
  const header = headers.get('payment-response');
  const value = header === null ? undefined : decodeJson(header);
  if (!isObject(value) || typeof value.success !== 'boolean') return undefined;
  return {
    success: value.success,
    transaction: typeof value.transaction === 'string' ? value.transaction : '',
    reason: typeof value.errorReason === 'string' ? value.errorReason : undefined,
  };
}

/**
 * What an answer says about the payment that its request carried.
 * - `paid`: the search was answered.
 * - `unknown`: it may be settled, now or later. Only the same payment may be sent again.
 * - `refused`: it will not be used; signing anew can help (a new price, an expired window).
 * - `refused-finally`: it will not be used, and neither would another one (empty wallet).
 * - `used`: the gateway says that it was used on chain, but gives no reply for it.
 * - `lost`: it is not taken any more, and whether an earlier try was cannot be learned.
 */
export type Verdict = 'paid' | 'unknown' | 'refused' | 'refused-finally' | 'used' | 'lost';

const KNOWN_CODES: ReadonlySet<string> = new Set(ERROR_CODES);

/** The service's codes that refuse a payment for what it is, whatever became of earlier tries. */
const NO_LONGER_TAKEN: ReadonlySet<string> = new Set([
  'payment_invalid',
  'authorization_bound_to_other_request',
]);

/** Both spellings: the x402 specification's and the reference implementation's. */
const USED = /nonce_already_used|authorization_(is_)?used|nonce_used/;
const NOT_HELPED_BY_A_NEW_SIGNATURE =
  /insufficient|invalid_exact_evm_(payload_)?signature|scheme|network_mismatch|unsupported|blacklist|paused|not_supported|domain|token_name|token_version|asset_not_deployed|factory/;

/**
 * Judges an answer to a paid request. Only the service's own refusals say anything: a status
 * without one of its codes may be a proxy's, in the place of a reply that was paid for. `uncertain` is whether an earlier try with this payment may
 * have been accepted; then only `settlement_failed` is believed, which the service says from its
 * books. Any other refusal may be about the second try alone: a window that has passed meanwhile,
 * or a server that keeps no books.
 */
export function judge(
  answer: Answer,
  code: string | undefined,
  challengeError: string | undefined,
  uncertain: boolean,
): Verdict {
  if (answer.status === 200) return 'paid';
  if (code === undefined || !KNOWN_CODES.has(code)) return 'unknown';
  const isClientError = answer.status >= 400 && answer.status < 500;
  if (!isClientError || answer.status === 408 || answer.status === 429) return 'unknown';
  if (answer.status !== 402) return uncertain ? 'unknown' : 'refused-finally';

  const receipt = readReceipt(answer.headers);
  const reason = receipt?.reason ?? challengeError ?? '';
  if (receipt?.success === true || reason === 'settlement_pending') return 'unknown';
  if (USED.test(reason)) return 'used';
  if (uncertain && code !== 'settlement_failed') {
    return NO_LONGER_TAKEN.has(code) ? 'lost' : 'unknown';
  }
  // The header did not arrive as one: the next would not either.
  if (code === 'payment_required') return 'refused-finally';
  return NOT_HELPED_BY_A_NEW_SIGNATURE.test(reason) ? 'refused-finally' : 'refused';
}
