import type {
  Bytes32,
  Hex,
  UnixMillis,
  UnixSeconds,
  UsdcUnits,
} from '../../ground/domain/units.js';
import type { ChannelConfig } from '../x402/channel-payload.js';

/** A withdrawal that the payer has begun and not finished. */
export interface Withdrawal {
  readonly amount: UsdcUnits;
  /** The block time of its start; it can be finished `withdrawDelay` later. */
  readonly initiatedAt: UnixSeconds;
}

/** A channel as the settlement contract knows it, at one block. */
export interface ChainState {
  /** Deposited less refunded and withdrawn. A claim does not lower it. */
  readonly balance: UsdcUnits;
  readonly claimed: UsdcUnits;
  readonly refundNonce: bigint;
  readonly withdrawal?: Withdrawal;
  /** The block that says so; absent while the chain was not asked yet. */
  readonly block?: { readonly number: bigint; readonly hash: Bytes32 };
}

/** A channel with everything that is recorded about it. */
export interface Channel {
  readonly id: Bytes32;
  readonly chainId: number;
  readonly config: ChannelConfig;
  /** What its searches have cost so far. */
  readonly charged: UsdcUnits;
  /** The highest voucher that was ever taken, and the payer's signature under it. */
  readonly signed: UsdcUnits;
  readonly signature?: Hex;
  /** Vouchers whose searches run. */
  readonly reserved: number;
  /** Vouchers up to here are no longer kept: none of them buys anything. */
  readonly floor: UsdcUnits;
  readonly onChain: ChainState;
  /** The balance as of a block that ordinary reorganizations spare. */
  readonly safeBalance: UsdcUnits;
  /** Since when a refund is under way that is not final. */
  readonly frozenAt?: UnixMillis;
}

/** Where a channel stands; derived from its recorded facts, never stored. */
export type ChannelStatus = 'withdrawing' | 'frozen' | 'stale' | 'empty' | 'open';

/** How fresh the knowledge of the chain has to be. */
export interface Freshness {
  /** When the contract's events were last followed up to the head; undefined before that. */
  readonly syncedAt: UnixMillis | undefined;
  readonly now: UnixMillis;
  /** Milliseconds that claiming takes at worst, which must be left when a withdrawal turns up. */
  readonly marginMs: number;
}

/**
 * The status that the facts amount to. The first row that matches wins; `·` matches anything.
 * Beside it what is taken then: a voucher, a deposit, a claim, a refund.
 *
 *     withdrawal  refund under way  sync too old  balance 0 │ status       voucher  deposit  claim    refund
 *     yes         ·                 ·             ·         │ withdrawing  no       no       at once  no
 *     ·           yes               ·             ·         │ frozen       no       no       yes      no
 *     ·           ·                 yes           ·         │ stale        no       yes      yes      no
 *     ·           ·                 ·             yes       │ empty        no       yes      no       no
 *     ·           ·                 ·             ·         │ open         yes      yes      yes      yes
 *
 * A sync is too old when a withdrawal that began just after it could mature before we have claimed:
 * `now > syncedAt + withdrawDelay − margin`.
 */
export function statusOf(
  { config, onChain, frozenAt }: Pick<Channel, 'config' | 'onChain' | 'frozenAt'>,
  { syncedAt, now, marginMs }: Freshness,
): ChannelStatus {
  if (onChain.withdrawal !== undefined) return 'withdrawing';
  if (frozenAt !== undefined) return 'frozen';
  const goodForMs = config.withdrawDelay * 1000 - marginMs;
  if (syncedAt === undefined || now > syncedAt + goodForMs) return 'stale';
  return onChain.balance === 0n ? 'empty' : 'open';
}

/** Whether a voucher is taken in this status. */
export const mayVouch = (status: ChannelStatus): boolean => status === 'open';

/** Whether a deposit is taken in this status: it asks the chain, so old knowledge does not matter. */
export const mayDeposit = (status: ChannelStatus): boolean =>
  status === 'open' || status === 'empty' || status === 'stale';
