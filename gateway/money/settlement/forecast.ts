import type { SettlementSettings } from './settings.js';

/** What stands before a payment that comes now. */
export interface Backlog {
  /** Payments that want the same transactions. */
  readonly payments: number;
  /** Relayers that take new transactions, here or in another gateway. */
  readonly lanes: number;
  /**
   * Milliseconds for which every relayer has had no room for another transaction: the age of the
   * oldest one in flight of the relayer that is best off; 0 when one has room.
   */
  readonly stuckMs: number;
}

type BlockSettings = Pick<
  SettlementSettings,
  'batchPaymentsMax' | 'blockTimeMs' | 'confirmations' | 'inFlightMax' | 'searchSeconds'
>;

/** Seconds from a payment's transaction to its last confirmation, when nobody else pays. */
export function idleSeconds({ blockTimeMs, confirmations }: BlockSettings): number {
  return (confirmations * blockTimeMs) / 1000;
}

/**
 * Seconds that a payment may take to settle, beyond which it is turned away: what its caller waits.
 * An operator who lets callers wait for less than settlements take wants them to come back, not to
 * be turned away.
 */
export function patienceSeconds(settings: BlockSettings & { answerWaitMs: number }): number {
  const idle = idleSeconds(settings);
  return Math.max(settings.answerWaitMs / 1000, 2 * idle, idle + 1);
}

/**
 * Seconds that a payment has to wait because of others. Each relayer puts as many transactions into
 * a block as it may have in flight, each with a batch of payments.
 */
export function queueSeconds(backlog: Backlog, settings: BlockSettings): number {
  const { batchPaymentsMax, inFlightMax, blockTimeMs } = settings;
  const paymentsPerBlock = Math.max(backlog.lanes, 1) * inFlightMax * batchPaymentsMax;
  const blocks = Math.floor(backlog.payments / paymentsPerBlock);
  return (blocks * blockTimeMs + backlog.stuckMs) / 1000;
}

/**
 * Seconds that must be left of an authorization for its search and its settlement, when nobody
 * else pays: a block may just have been missed, and one more is to spare.
 */
export function windowSeconds(settings: BlockSettings): number {
  const { searchSeconds, blockTimeMs, confirmations } = settings;
  return searchSeconds + Math.ceil(((2 + confirmations) * blockTimeMs) / 1000);
}
