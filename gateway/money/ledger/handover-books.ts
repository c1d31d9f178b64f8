import type { Store } from '../../ground/store/store.js';
import type { Payment } from './payment.js';
import { paymentOf } from './tables.js';
import type { LedgerTx } from './transition.js';

/** Parameters of one statement: both engines take several thousand. */
const IDS_AT_ONCE = 500;
/** The facts that end the wait for an outcome (`outcomeOf`). */
const ENDS = ['released_at', 'failed_at', 'preconfirmed_at', 'settled_at'] as const;

/**
 * How gateways that share the books work for each other: one that holds no relayer key serves
 * payments, another one that holds a key takes them over and settles them, and the first one reads
 * the outcome.
 */
export class HandoverBooks {
  constructor(private readonly store: Store) {}

  /** True when no other process can use this database: there is nobody to work for. */
  get isAlone(): boolean {
    return this.store.isExclusive;
  }

  /** Which of these payments are at an end, as far as whoever waits for them is concerned. */
  async ended(paymentIds: readonly string[]): Promise<readonly string[]> {
    const ended: string[] = [];
    for (let from = 0; from < paymentIds.length; from += IDS_AT_ONCE) {
      const ids = paymentIds.slice(from, from + IDS_AT_ONCE);
      const rows = await this.store.read((db: LedgerTx) =>
        db
          .selectFrom('payments')
          .select('id')
          .where('id', 'in', ids)
          .where((row) => row.or(ENDS.map((fact) => row.eb(fact, 'is not', null))))
          .execute(),
      );
      ended.push(...rows.map(({ id }) => id));
    }
    return ended;
  }

  /** Served payments that wait for a transaction, whoever served them. */
  async waiting(): Promise<number> {
    const row = await this.store.read((db: LedgerTx) =>
      unsigned(db)
        .select((select) => select.fn.countAll<bigint>().as('count'))
        .executeTakeFirstOrThrow(),
    );
    return Number(row.count);
  }

  /**
   * Takes over payments whose gateways hold no relayer key of this chain, the closest deadline
   * first and at most `limit`: concurrent calls of all gateways see each of them once between them.
   */
  async takeOver(chainId: number, owner: string, limit: number): Promise<readonly Payment[]> {
    const offered = await this.store.read((db: LedgerTx) =>
      handedOver(db, chainId, owner).limit(limit).execute(),
    );
    if (offered.length === 0) return [];
    return this.store.write(async (tx: LedgerTx) => {
      const taken: Payment[] = [];
      for (const { id, owner: server } of offered) {
        const row = await tx
          .updateTable('payments')
          .set({ owner })
          .where('id', '=', id)
          .where('owner', '=', server)
          .where('signed_at', 'is', null)
          .returningAll()
          .executeTakeFirst();
        if (row) taken.push(paymentOf(row));
      }
      return taken;
    });
  }
}

const unsigned = (db: LedgerTx) =>
  db
    .selectFrom('payments')
    .where('released_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('settled_at', 'is', null)
    .where('served_at', 'is not', null)
    .where('signed_at', 'is', null);

const handedOver = (db: LedgerTx, chainId: number, owner: string) =>
  unsigned(db)
    .select(['id', 'owner'])
    .where('owner', '<>', owner)
    .where('owner', 'not in', (select) =>
      select.selectFrom('lanes').select('lanes.owner').where('chain_id', '=', BigInt(chainId)),
    )
    .orderBy('valid_before_seconds');
