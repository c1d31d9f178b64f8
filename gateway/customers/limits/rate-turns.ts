import { sql, type ExpressionBuilder, type Kysely, type RawBuilder } from 'kysely';
import { leaseSize, type Ask } from '../../ground/domain/lease-size.js';
import { WINDOW_MS, type RateTurned } from './rate-lease.js';
import type { LimitTables } from './schema.js';

/** Who takes turns, and until when its leases are its own. */
interface Holder {
  readonly gateway: string;
  readonly now: RawBuilder<bigint>;
  readonly leaseMs: number;
}

/** Sets one gateway's share of a rate anew, larger or smaller; all shares together are the rate at most. */
export async function takeRateTurn(
  tx: Kysely<LimitTables>,
  { subject, limit, ask }: { subject: string; limit: number; ask: Ask },
  holder: Holder,
): Promise<RateTurned> {
  const { gateway } = holder;
  const pool = await tx
    .selectFrom('rate_pools')
    .select('leased')
    .where('subject', '=', subject)
    .executeTakeFirst();
  const rows = await tx
    .selectFrom('rate_leases')
    .select(['gateway', 'slots', 'wanted'])
    .where('subject', '=', subject)
    .execute();
  const own = rows.find((row) => row.gateway === gateway);
  const others = rows.length - (own ? 1 : 0);
  const leased = Number(pool?.leased ?? 0n);
  const before = Number(own?.slots ?? 0n);
  const wanted = Number(own?.wanted ?? 0n);
  const there = limit - leased + before;
  const slots = leaseSize(ask, { there, others, isRecalled: wanted > 0 });
  const short = Math.max(0, ask.waiting - (slots - ask.running));
  const isAsking = short > 0 && others > 0;
  // Whoever writes more than its own lease holds the pool's row first: so nobody waits in a circle.
  if (slots !== before || isAsking) await setLeased(tx, subject, leased - before + slots);
  // What is still free here is given back by the next turn.
  const isRecallOpen = wanted > 0 && ask.keep > ask.waiting;
  await writeLease(tx, { subject, before, slots, wanted: isRecallOpen ? wanted : 0 }, holder);
  if (isAsking) await recallOthers(tx, subject, short, gateway);
  return { slots, left: Math.max(0, there - slots), wanted, gateways: others + 1 };
}

/** The rates of which other gateways need what this one has. */
export async function recalledRates(
  db: Kysely<LimitTables>,
  gateway: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('rate_leases')
    .select('subject')
    .where('gateway', '=', gateway)
    .where('wanted', '>', sql.lit(0n))
    .execute();
  return rows.map(({ subject }) => subject);
}

/**
 * Gives back what dead gateways had on lease, a bounded number at a time: a window after the lease
 * has lapsed, because it may have been used until then.
 */
export async function returnRates(
  tx: Kysely<LimitTables>,
  now: RawBuilder<bigint>,
): Promise<number> {
  const rows = await lapsedRates(tx, now).orderBy('subject').limit(RETURNED_MAX).execute();
  for (const { subject, gateway, slots } of rows) {
    await tx
      .updateTable('rate_pools')
      .set((set) => ({ leased: set('leased', '-', slots) }))
      .where('subject', '=', subject)
      .execute();
    await tx
      .deleteFrom('rate_leases')
      .where('subject', '=', subject)
      .where('gateway', '=', gateway)
      .execute();
  }
  return rows.length;
}

export function lapsedRates(db: Kysely<LimitTables>, now: RawBuilder<bigint>) {
  return db
    .selectFrom('rate_leases')
    .selectAll()
    .where('lapses_at', '<=', sql<bigint>`${now} - ${sql.lit(WINDOW_MS)}`);
}

const RETURNED_MAX = 1000;

async function setLeased(tx: Kysely<LimitTables>, subject: string, leased: number): Promise<void> {
  await tx
    .insertInto('rate_pools')
    .values({ subject, leased })
    .onConflict((conflict) => conflict.column('subject').doUpdateSet({ leased }))
    .execute();
}

/** A lease that was there is updated: if it has been given back meanwhile, that is a conflict. */
async function writeLease(
  tx: Kysely<LimitTables>,
  lease: { subject: string; before: number; slots: number; wanted: number },
  { gateway, now, leaseMs }: Holder,
): Promise<void> {
  const { subject, before, slots, wanted } = lease;
  const state = { slots, wanted, lapses_at: sql<bigint>`${now} + ${sql.val(BigInt(leaseMs))}` };
  if (before === 0) {
    if (slots === 0) return;
    await tx
      .insertInto('rate_leases')
      .values({ subject, gateway, ...state })
      .execute();
    return;
  }
  const own = (eb: ExpressionBuilder<LimitTables, 'rate_leases'>) => eb.and({ subject, gateway });
  if (slots > 0) await tx.updateTable('rate_leases').set(state).where(own).execute();
  else await tx.deleteFrom('rate_leases').where(own).execute();
}

async function recallOthers(
  tx: Kysely<LimitTables>,
  subject: string,
  wanted: number,
  gateway: string,
): Promise<void> {
  await tx
    .updateTable('rate_leases')
    .set({ wanted })
    .where('subject', '=', subject)
    .where('gateway', '<>', gateway)
    .execute();
}
