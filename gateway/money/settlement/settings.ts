import { CODE_PAYER_LIMITS, type CodePayerLimits } from '../ledger/code-payers.js';
import { RETENTION, type Retention } from '../ledger/retention.js';
import type { FeeSettings } from './fees.js';

/** Everything about settlement that an operator may set; every queue and wait has its maximum. */
export interface SettlementSettings extends FeeSettings, Retention {
  /** Milliseconds from block to block: 2000 on Base; 0 when a block comes with each transaction. */
  readonly blockTimeMs: number;
  /** Blocks that must hold a transfer, its own included, before it counts as settled; from 1. */
  readonly confirmations: number;
  /**
   * Whether a payer is answered when the transfer is in a block that is still being made, where the
   * endpoints know of such blocks.
   */
  readonly preconfirmations: boolean;
  /** Payments that share one transaction at most. */
  readonly batchPaymentsMax: number;
  /** What payers with code may cost, and how long one that burned gas is barred. */
  readonly codePayers: CodePayerLimits;
  /** Transactions of payers with code that one relayer may have unmined at the same time. */
  readonly codeInFlightMax: number;
  /** Gas that one transaction may use at most. */
  readonly batchGasMax: bigint;
  /** Transactions of one relayer that may be unmined at the same time. */
  readonly inFlightMax: number;
  /**
   * Milliseconds for which payments are gathered while a transaction is in flight, before the next
   * one takes them along: it then goes into the same block, and not a block later each.
   */
  readonly gatherMs: number;
  /** Payments that may wait for a transaction; more paid work is refused until there is room. */
  readonly queuePaymentsMax: number;
  /** Seconds that a search may take: part of the window that a payment must leave. */
  readonly searchSeconds: number;
  /** Milliseconds without a receipt after which the same bytes are broadcast again. */
  readonly rebroadcastAfterMs: number;
  /** Milliseconds without a receipt after which a replacement offers more. */
  readonly replaceAfterMs: number;
  /** How often a payment whose call failed for no lasting reason is tried again. */
  readonly callAttemptsMax: number;
  /** Milliseconds that a caller waits for the settlement of its payment. */
  readonly answerWaitMs: number;
  /** Wei that stay untouched: new paid work is refused before it would take from them. */
  readonly relayerBalanceMin: bigint;
  /** Milliseconds for which a balance that was seen is good enough. */
  readonly balancePollMs: number;
  /** Milliseconds between looks for payments that gateways without a relayer key have served. */
  readonly handoverMs: number;
  /** Milliseconds between looks at what is left over: deadlines, other processes, finality. */
  readonly housekeepingMs: number;
  /** Milliseconds between looks at the safe head while settled transfers are above it. */
  readonly finalityMs: number;
  /** Milliseconds without a sign of life after which a gateway counts as dead. */
  readonly leaseMs: number;
  /** Milliseconds between reads of the books for outcomes that other processes bring about. */
  readonly outcomePollMs: number;
}

export const SETTLEMENT_DEFAULTS: SettlementSettings = {
  ...RETENTION,
  blockTimeMs: 2000,
  confirmations: 1,
  preconfirmations: false,
  batchPaymentsMax: 64,
  batchGasMax: 10_000_000n,
  inFlightMax: 4,
  codePayers: CODE_PAYER_LIMITS,
  codeInFlightMax: 2,
  gatherMs: 100,
  queuePaymentsMax: 2000,
  searchSeconds: 5,
  rebroadcastAfterMs: 6000,
  replaceAfterMs: 10_000,
  callAttemptsMax: 3,
  // Some 2,000 lone transfers at 0.01 gwei, or 20 at 1 gwei.
  relayerBalanceMin: 2_000_000_000_000_000n,
  priorityFeePerGas: 1_000_000n,
  maxFeePerGasCap: 5_000_000_000n,
  answerWaitMs: 20_000,
  balancePollMs: 15_000,
  handoverMs: 200,
  housekeepingMs: 3000,
  finalityMs: 60_000,
  leaseMs: 6000,
  outcomePollMs: 250,
};
