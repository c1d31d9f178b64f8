import { sql } from 'kysely';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { type Intent, loadIntents } from './intents.js';
import type { Payment } from './payment.js';
import type { PaymentStatus } from './status.js';
import { paymentOf } from './tables.js';
import type { LedgerTx } from './transition.js';

/** Which payments to look at; everything that is absent does not matter. */
export interface PaymentFilter {
  readonly statuses?: readonly PaymentStatus[];
  readonly payer?: string;
  /** Reserved at or after. */
  readonly since?: UnixMillis;
  /** Reserved before. */
  readonly until?: UnixMillis;
}

/** Rows that one query reads: the books may be larger than the memory. */
const PAGE = 500;

/** The books as an auditor reads them: everything, changing nothing. */
export class AuditBooks {
  constructor(private readonly store: Store) {}

  /** All payments that pass the filter, in order of their reservations. */
  async *payments(filter: PaymentFilter): AsyncGenerator<Payment> {
    let after = { reservedAt: -1n, id: '' };
    for (;;) {
      const page = await this.#page(filter, after);
      for (const payment of page) {
        if (!filter.statuses || filter.statuses.includes(payment.status)) yield payment;
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = { reservedAt: BigInt(last.reservedAt), id: last.id };
    }
  }

  #page(filter: PaymentFilter, after: { reservedAt: bigint; id: string }): Promise<Payment[]> {
    return this.store.read(async (db: LedgerTx) => {
      let query = db
        .selectFrom('payments')
        .selectAll()
        .where(sql<boolean>`(reserved_at, id) > (${after.reservedAt}, ${after.id})`)
        .orderBy('reserved_at')
        .orderBy('id')
        .limit(PAGE);
      if (filter.payer !== undefined) query = query.where('payer', '=', filter.payer.toLowerCase());
      if (filter.since !== undefined)
        query = query.where('reserved_at', '>=', BigInt(filter.since));
      if (filter.until !== undefined) query = query.where('reserved_at', '<', BigInt(filter.until));
      return (await query.execute()).map(paymentOf);
    });
  }

  /** Payments that go by this name: their id, nonce, request id, identifier or transaction. */
  find(name: string): Promise<Payment[]> {
    const lower = name.toLowerCase();
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('payments')
        .selectAll()
        .where((where) =>
          where.or([
            where('id', '=', lower),
            where('nonce', '=', lower),
            where('request_id', '=', name),
            where('payment_identifier', '=', name),
            where('transaction_hash', '=', lower),
          ]),
        )
        .orderBy('reserved_at')
        .limit(PAGE)
        .execute();
      return rows.map(paymentOf);
    });
  }

  /** Every relayer nonce that ever carried this payment, with its transactions. */
  intentsOf(paymentId: string): Promise<Intent[]> {
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('intents')
        .innerJoin('intent_payments', 'intent_payments.intent_id', 'intents.id')
        .selectAll('intents')
        .where('intent_payments.payment_id', '=', paymentId)
        .orderBy('created_at')
        .orderBy('relayer_nonce')
        .execute();
      return loadIntents(db, rows);
    });
  }
}
