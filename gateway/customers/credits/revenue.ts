import { sql, type Kysely } from 'kysely';
import { usdcUnits, type UsdcUnits } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';

/** What is read here of the ledger's payments; it alone writes them. */
interface PaymentTables {
  payments: {
    request_id: string;
    /** Atomic USDC, as decimal text. */
    value: string;
    settled_at: bigint | null;
    failed_at: bigint | null;
    released_at: bigint | null;
  };
  top_ups: { request_id: string };
  packs: { request_id: string };
}

/** What was settled on one day (UTC), in atomic USDC. */
export interface RevenueDay {
  readonly day: string;
  readonly payments: UsdcUnits;
  readonly topUps: UsdcUnits;
  readonly packs: UsdcUnits;
}

const DAY_MS = 24 * 3600 * 1000;

/** Of these requests, those whose payment has settled. */
export async function settledRequests(
  store: Store,
  requestIds: readonly string[],
): Promise<readonly string[]> {
  if (requestIds.length === 0) return [];
  const rows = await store.read((db: Kysely<PaymentTables>) =>
    db
      .selectFrom('payments')
      .select('request_id')
      .where('request_id', 'in', requestIds)
      .where('settled_at', 'is not', null)
      .execute(),
  );
  return rows.map(({ request_id }) => request_id);
}

/** Revenue of the last `days` days, newest first; days without any are left out. */
export async function revenueByDay(
  store: Store,
  now: number,
  days: number,
): Promise<readonly RevenueDay[]> {
  const sum = (condition: string) =>
    sql<bigint>`cast(sum(case when ${sql.raw(condition)} then cast(value as bigint) else 0 end) as bigint)`;
  const rows = await store.read((db: Kysely<PaymentTables>) =>
    db
      .selectFrom('payments')
      .leftJoin('top_ups', 'top_ups.request_id', 'payments.request_id')
      .leftJoin('packs', 'packs.request_id', 'payments.request_id')
      .select([
        sql<bigint>`settled_at / ${sql.lit(DAY_MS)}`.as('day'),
        sum('top_ups.request_id is null and packs.request_id is null').as('payments'),
        sum('top_ups.request_id is not null').as('topUps'),
        sum('packs.request_id is not null').as('packs'),
      ])
      .where('settled_at', '>', BigInt(now - days * DAY_MS))
      .groupBy(sql`settled_at / ${sql.lit(DAY_MS)}`)
      .orderBy('day', 'desc')
      .execute(),
  );
  return rows.map(({ day, payments, topUps, packs }) => ({
    day: new Date(Number(day) * DAY_MS).toISOString().slice(0, 10),
    payments: usdcUnits(payments),
    topUps: usdcUnits(topUps),
    packs: usdcUnits(packs),
  }));
}

/** Payments that were reserved and are not at an end yet. */
export async function paymentsInFlight(store: Store): Promise<number> {
  const row = await store.read((db: Kysely<PaymentTables>) =>
    db
      .selectFrom('payments')
      .select(({ fn }) => fn.countAll<bigint>().as('count'))
      .where('settled_at', 'is', null)
      .where('failed_at', 'is', null)
      .where('released_at', 'is', null)
      .executeTakeFirstOrThrow(),
  );
  return Number(row.count);
}
