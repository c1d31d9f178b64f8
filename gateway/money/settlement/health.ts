import type { HaltReason } from './lane-parts.js';

/** What readiness, the metrics and the operator's page say of the settlement. */
export interface SettlementHealth {
  /** False when new paid work is refused. */
  readonly ready: boolean;
  /** Hours until gas money runs short, at the rate of the last hour; Infinity without any use. */
  readonly runwayHours: number;
  /** Why new paid work is refused, where it is for gas money. */
  readonly isShortOfGasMoney: boolean;
  /** Payments that wait for a transaction. */
  readonly queued: number;
  readonly lanes: readonly {
    readonly relayer: string;
    readonly halted?: HaltReason;
    readonly balanceWei: bigint;
    readonly inFlight: number;
    /** Transactions that cannot offer more because of the fee cap. */
    readonly atFeeCap: number;
  }[];
  /** Where somebody else's relayer moves the money. */
  readonly facilitator?: { readonly name: string; readonly answers: boolean };
}
