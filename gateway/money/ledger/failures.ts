import type { Clock } from '../../ground/domain/ports.js';
import { bytes32, type TransactionHash } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { Payment } from './payment.js';
import { mayReverseFailure } from './status.js';
import { paymentOf, type PaymentRow } from './tables.js';
import { type LedgerTx, transition, type Transition } from './transition.js';

/** A payment that failed, with everything of ours that could still move its money. */
export interface OpenFailure {
  readonly payment: Payment;
  /** The transactions of each relayer nonce that carried it: one of a nonce is mined at the most. */
  readonly carriers: readonly (readonly TransactionHash[])[];
}

/**
 * Failures that a reorganization may still turn around: a transaction of ours whose call failed in
 * one block can succeed in another one.
 */
export class FailureBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Failures that are not final yet, the oldest first, at most `limit`. */
  open(limit: number): Promise<OpenFailure[]> {
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('payments')
        .selectAll()
        .where('failed_at', 'is not', null)
        .where('final_at', 'is', null)
        .orderBy('failed_at')
        .limit(limit)
        .execute();
      return Promise.all(rows.map((row) => failureOf(db, row)));
    });
  }

  /** The transfer was made after all: the payment is settled, and its reply can be fetched. */
  reverse(
    paymentId: string,
    hash: TransactionHash,
    block: NonNullable<Payment['block']>,
  ): Promise<Transition> {
    return this.store.write((tx: LedgerTx) => {
      const now = BigInt(this.clock.now());
      return transition(tx, paymentId, mayReverseFailure, {
        failed_at: null,
        reason: null,
        reorged_at: now,
        settled_at: now,
        transaction_hash: hash,
        block_number: block.number,
        block_hash: block.hash,
        // Failing gave the payer's own id back: another payment may bear it by now.
        payment_identifier: null,
      });
    });
  }

  /** Nothing can turn these failures around any more. */
  close(paymentIds: readonly string[]): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      await tx
        .updateTable('payments')
        .set({ final_at: BigInt(this.clock.now()) })
        .where('id', 'in', paymentIds)
        .where('failed_at', 'is not', null)
        .execute();
    });
  }
}

async function failureOf(db: LedgerTx, row: PaymentRow): Promise<OpenFailure> {
  const signed = await db
    .selectFrom('transactions')
    .innerJoin('intent_payments', 'intent_payments.intent_id', 'transactions.intent_id')
    .select(['transactions.hash', 'transactions.intent_id'])
    .where('intent_payments.payment_id', '=', row.id)
    .execute();
  const intents = new Set(signed.map((one) => one.intent_id));
  const carriers = [...intents].map((id) =>
    signed.filter((one) => one.intent_id === id).map((one) => bytes32(one.hash)),
  );
  return { payment: paymentOf(row), carriers };
}
