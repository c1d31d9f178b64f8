import { ERROR_CODES } from '../errors.js';
import type { Answer } from '../transport.js';

/**
 * What an answer says about the voucher that its request carried.
 * - `unknown`: it may be charged, now or later. Only the same voucher may be sent again.
 * - `later`: it was not charged; the same voucher may be later.
 * - `correction`: payer and gateway disagree about the channel, and the answer says how it is.
 * - `busy`: as `correction`; searches that run have what is signed.
 * - `empty`: the gateway knows nothing of the channel: it wants a deposit.
 * - `renew`: other terms, or another deposit, would be taken.
 * - `unavailable`: what the gateway knows of the chain is too old, or a deposit is too young.
 * - `stopped`: no voucher of this channel is taken, or no deposit of this wallet.
 * - `failed`: the request was refused for what it asks, and nothing was charged.
 */
export type VoucherVerdict =
  | 'unknown'
  | 'later'
  | 'correction'
  | 'busy'
  | 'empty'
  | 'renew'
  | 'unavailable'
  | 'stopped'
  | 'failed';

const KNOWN_CODES: ReadonlySet<string> = new Set(ERROR_CODES);
/** Nothing was charged, and waiting would take minutes. */
const UNAVAILABLE = 'payments_unavailable';
/** The search may have been answered, or may yet be. */
const UNDECIDED: ReadonlySet<string> = new Set(['settlement_pending', 'internal_error']);

const reason = (words: string) => new RegExp(`^invalid_batch_settlement_evm_(${words})$`);
const CORRECTION = reason(
  'cumulative_amount_mismatch|cumulative_exceeds_balance|cumulative_below_claimed',
);
const BUSY = reason('channel_busy');
const EMPTY = reason('channel_not_found|missing_channel');
const RENEW = reason(
  'receiver_mismatch|receiver_authorizer_mismatch|token_mismatch|withdraw_delay_mismatch|' +
    'channel_id_mismatch|deposit_below_min_deposit|payload_authorization_valid_before|amount_mismatch',
);

/**
 * Judges an answer other than 200 to a request with a voucher. Only the service's own refusals say
 * anything: a status without one of its codes may be a proxy's, in the place of the reply.
 */
export function judgeVoucher(
  { status }: Pick<Answer, 'status'>,
  code: string | undefined,
  because: string | undefined,
): VoucherVerdict {
  if (code === undefined || !KNOWN_CODES.has(code) || UNDECIDED.has(code)) return 'unknown';
  if (code === UNAVAILABLE) return 'unavailable';
  if (status === 408 || status === 429 || status >= 500) return 'later';
  if (status !== 402) return 'failed';
  if (because === undefined) return 'stopped';
  if (BUSY.test(because)) return 'busy';
  if (CORRECTION.test(because)) return 'correction';
  if (EMPTY.test(because)) return 'empty';
  return RENEW.test(because) ? 'renew' : 'stopped';
}
