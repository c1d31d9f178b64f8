import { sql } from 'kysely';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { LedgerTx } from './transition.js';

/** What an operator watches of the payments. */
export interface RecentPayments {
  /** Reserved, and not at an end. */
  readonly open: number;
  /** When the oldest of them was reserved, in milliseconds since 1970; absent without any. */
  readonly oldestOpenAt?: number;
  /** Of the payments that were reserved since then: how many there are, by what became of them. */
  readonly outcomes: {
    readonly settled: number;
    readonly failed: number;
    readonly released: number;
    readonly open: number;
  };
  /** What the settled ones of them brought in, in atomic USDC. */
  readonly revenueUnits: bigint;
  /** What their transactions cost, in wei, publishing included. */
  readonly costWei: bigint;
}

/** Reads by indexes what is open, and what was reserved since: the length of the history costs nothing. */
export function recentPayments(store: Store, since: UnixMillis): Promise<RecentPayments> {
  const count = (condition: string) =>
    sql<bigint>`cast(coalesce(sum(case when ${sql.raw(condition)} then 1 else 0 end), 0) as bigint)`;
  return store.read(async (db: LedgerTx) => {
    const open = await db
      .selectFrom('payments')
      .select([
        sql<bigint>`count(*)`.as('count'),
        sql<bigint | null>`min(reserved_at)`.as('oldest'),
      ])
      .where('released_at', 'is', null)
      .where('failed_at', 'is', null)
      .where('settled_at', 'is', null)
      .executeTakeFirstOrThrow();
    const hour = await db
      .selectFrom('payments')
      .select([
        count('settled_at is not null').as('settled'),
        count('failed_at is not null').as('failed'),
        count('released_at is not null').as('released'),
        count('settled_at is null and failed_at is null and released_at is null').as('open'),
        sql<bigint>`cast(coalesce(sum(case when settled_at is not null
          then cast(value as bigint) else 0 end), 0) as bigint)`.as('revenue'),
      ])
      .where('reserved_at', '>=', BigInt(since))
      .executeTakeFirstOrThrow();
    const { cost } = await db
      .selectFrom('transactions')
      .select(
        sql<bigint>`cast(coalesce(sum(cast(gas_used as bigint) * cast(gas_price as bigint)
          + coalesce(cast(publishing_fee as bigint), 0)), 0) as bigint)`.as('cost'),
      )
      .where('gas_used', 'is not', null)
      .where('intent_id', 'in', (query) =>
        query
          .selectFrom('intent_payments')
          .innerJoin('payments', 'payments.id', 'intent_payments.payment_id')
          .select('intent_id')
          .where('reserved_at', '>=', BigInt(since)),
      )
      .executeTakeFirstOrThrow();
    return {
      open: Number(open.count),
      ...(open.oldest !== null && { oldestOpenAt: Number(open.oldest) }),
      outcomes: {
        settled: Number(hour.settled),
        failed: Number(hour.failed),
        released: Number(hour.released),
        open: Number(hour.open),
      },
      revenueUnits: hour.revenue,
      costWei: cost,
    };
  });
}
