import type { UnixMillis } from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';

/** When claims go out. Amounts in atomic units, times in milliseconds. */
export interface ClaimPolicy {
  /** What one more row of a claim costs now. */
  readonly rowCost: bigint;
  /** The share of what is claimed that its claim may cost, in hundredths. */
  readonly costPercentMax: number;
  /** How long a charged search waits for its claim at most, where that brings in more than it costs. */
  readonly deadlineMs: number;
  readonly now: UnixMillis;
}

/** A channel with charged searches that were not claimed. */
export interface Unclaimed extends Pick<Channel, 'charged' | 'onChain'> {
  /** When the first of them was charged. */
  readonly unclaimedSince: UnixMillis;
}

/** Why a channel is claimed now. */
export type ClaimReason =
  /** Its payer has begun to withdraw: what is not claimed before the end of the delay is lost. */
  | 'withdrawal'
  /** It has earned its claim. */
  | 'earned'
  /** The operator's deadline. */
  | 'overdue';

/**
 * Why this channel's charged searches are claimed now; undefined while they wait, since a claim costs
 * the same for one search as for a thousand. The first row that matches wins.
 *
 *     withdrawal begun  cost ≤ share of unclaimed  older than the deadline  unclaimed > cost │ claimed
 *     yes               ·                          ·                        ·                │ withdrawal
 *     ·                 yes                        ·                        ·                │ earned
 *     ·                 ·                          yes                      yes              │ overdue
 *     ·                 ·                          ·                        ·                │ no
 *
 * What is worth less than its claim stays in the channel until its payer withdraws.
 */
export function claimReason(
  { charged, onChain, unclaimedSince }: Unclaimed,
  { rowCost, costPercentMax, deadlineMs, now }: ClaimPolicy,
): ClaimReason | undefined {
  const unclaimed = charged - onChain.claimed;
  if (unclaimed <= 0n) return undefined;
  if (onChain.withdrawal) return 'withdrawal';
  if (rowCost * 100n <= unclaimed * BigInt(costPercentMax)) return 'earned';
  return now - unclaimedSince >= deadlineMs && unclaimed > rowCost ? 'overdue' : undefined;
}
