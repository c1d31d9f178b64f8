import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { AccountTables } from './schema.js';
import { moveBalance, OWN, setUsed, usedOf } from './lease-rows.js';

/** Whose leases are given back: those that have lapsed, or all but those of one gateway. */
type Returnable = { readonly lapsedAt: RawBuilder<bigint> } | { readonly notOf: string };

/** Leases that are given back at a time. */
const RETURNED_MAX = 1000;

/** Whether there is any, before others have to wait for a write. */
export async function isAnyToReturn(
  db: Kysely<AccountTables>,
  which: Returnable,
): Promise<boolean> {
  return (await returnable(db, which).limit(1).execute()).length > 0;
}

/** Gives back what dead gateways had on lease. Returns how many leases that were. */
export async function returnLeases(tx: Kysely<AccountTables>, which: Returnable): Promise<number> {
  const rows = await returnable(tx, which).orderBy('account_id').limit(RETURNED_MAX).execute();
  for (const { gateway, account_id, key_id, month, units } of rows) {
    const count = Number(units);
    if (key_id === OWN.keyId) {
      await moveBalance(tx, account_id, { available: count, held: -count, spent: 0 });
    } else {
      const used = await usedOf(tx, key_id, Number(month));
      await setUsed(tx, key_id, Number(month), used, Math.max(0, used - count));
    }
    await tx
      .deleteFrom('credit_leases')
      .where('account_id', '=', account_id)
      .where('key_id', '=', key_id)
      .where('month', '=', month)
      .where('gateway', '=', gateway)
      .execute();
  }
  return rows.length;
}

/** The accounts of which another gateway needs what this one has free. */
export async function recalledAccounts(
  db: Kysely<AccountTables>,
  gateway: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('credit_leases')
    .select('account_id')
    .distinct()
    .where('gateway', '=', gateway)
    .where('is_recalled', '=', sql.lit(1n))
    .execute();
  return rows.map(({ account_id }) => account_id);
}

function returnable(db: Kysely<AccountTables>, which: Returnable) {
  const leases = db.selectFrom('credit_leases').selectAll();
  return 'notOf' in which
    ? leases.where('gateway', '<>', which.notOf)
    : leases.where('lapses_at', '<=', which.lapsedAt);
}
