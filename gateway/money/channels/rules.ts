import type { Channel } from './channel.js';

/** What a voucher is asked to pay for. Amounts in atomic units. */
export interface VoucherAsk {
  /** What the voucher promises in all. */
  readonly cumulative: bigint;
  readonly price: bigint;
  /** How far a voucher may run ahead of what is charged: requests in flight sign distinct values. */
  readonly window: bigint;
  /** A deposit that comes with it and is not in the chain yet. */
  readonly deposit: bigint;
  /** What may be spent of a balance before its block is safe. */
  readonly unsafeMax: bigint;
}

/** What the rules say about a voucher that was not used before. */
export type VoucherVerdict =
  | 'fits'
  /** It fits once searches that run have ended: they have what is signed. */
  | 'busy'
  /** Payer and server disagree about what is charged. */
  | 'amount-mismatch'
  /** It is below what is claimed on chain already. */
  | 'below-claimed'
  | 'exceeds-balance'
  /** It fits once the deposit's block is safe. */
  | 'unsafe';

/** The state of a channel, as far as the rules go by it. */
export type VoucherState = Pick<
  Channel,
  'charged' | 'signed' | 'reserved' | 'floor' | 'onChain' | 'safeBalance'
>;

/**
 * Decides about a new voucher:
 *
 *     charged + price × (1 + reserved) ≤ highest signed ≤ charged + window
 *
 * and highest signed ≤ balance. One client that signs `charged + price` each time keeps it, and so do
 * many requests in flight that sign distinct values and come in any order. What is charged is always
 * covered by a signature that is kept.
 */
export function judgeVoucher(state: VoucherState, ask: VoucherAsk): VoucherVerdict {
  const { charged, reserved, floor, onChain } = state;
  const { cumulative, price, window, deposit, unsafeMax } = ask;
  const signed = cumulative > state.signed ? cumulative : state.signed;
  const needed = charged + price * BigInt(1 + reserved);
  if (cumulative <= floor || charged + price > signed)
    return cumulative < onChain.claimed ? 'below-claimed' : 'amount-mismatch';
  if (needed > signed) return 'busy';
  if (cumulative > charged + window) return 'amount-mismatch';
  if (signed > onChain.balance + deposit) return 'exceeds-balance';
  // A deposit's own search is answered when its block is there; it is spent on nothing else before.
  if (deposit === 0n && needed > state.safeBalance + unsafeMax) return 'unsafe';
  return 'fits';
}

/**
 * What must always hold of one channel; the names of what does not. `deposited − refunded − withdrawn`
 * is the contract's balance.
 */
export function brokenInvariants({
  charged,
  signed,
  onChain,
}: Pick<Channel, 'charged' | 'signed' | 'onChain'>): readonly string[] {
  return [
    ...(onChain.claimed <= charged ? [] : ['claimed ≤ charged']),
    ...(charged <= signed ? [] : ['charged ≤ highest signed']),
    ...(signed <= onChain.balance ? [] : ['highest signed ≤ deposited − refunded − withdrawn']),
  ];
}
