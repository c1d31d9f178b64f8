import type { Kysely, Updateable } from 'kysely';
import type { Payment } from './payment.js';
import type { PaymentFacts, TransitionRefusal } from './status.js';
import { type LedgerTables, paymentOf, type PaymentsTable } from './tables.js';

export type LedgerTx = Kysely<LedgerTables>;

/** What became of one attempted transition. */
export type Transition =
  | { readonly kind: 'done'; readonly payment: Payment }
  | { readonly kind: 'refused'; readonly because: TransitionRefusal };

/** The payment with this id, as the transaction (or the committed state) sees it. */
export async function selectPayment(db: LedgerTx, id: string): Promise<Payment | undefined> {
  const row = await db.selectFrom('payments').selectAll().where('id', '=', id).executeTakeFirst();
  return row && paymentOf(row);
}

/**
 * Records facts about one payment if `may` allows it in its present state. Look and update share
 * the caller's transaction, so no other transition comes between.
 */
export async function transition(
  tx: LedgerTx,
  id: string,
  may: (facts: PaymentFacts) => TransitionRefusal | undefined,
  changes: Updateable<PaymentsTable> | ((payment: Payment) => Updateable<PaymentsTable>),
): Promise<Transition> {
  const payment = await selectPayment(tx, id);
  if (!payment) return { kind: 'refused', because: 'unknown_payment' };
  const because = may(payment.facts);
  if (because) return { kind: 'refused', because };
  const row = await tx
    .updateTable('payments')
    .set(typeof changes === 'function' ? changes(payment) : changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { kind: 'done', payment: paymentOf(row) };
}
