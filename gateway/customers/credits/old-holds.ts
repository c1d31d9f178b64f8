import { sql, type Kysely } from 'kysely';
import { inChunks } from './chunks.js';
import { monthOf } from './month.js';
import type { AccountTables } from './schema.js';

const LAPSED_MAX = 1000;

/**
 * Gives back what was held for single searches by a gateway of an earlier version that has died:
 * those held each credit by a transfer of its own. A bounded number at a time.
 */
export async function releaseOldHolds(tx: Kysely<AccountTables>, now: number): Promise<number> {
  const lapsed = await tx
    .selectFrom('credit_transfers')
    .select(['id', 'account_id', 'key_id', 'created_at'])
    .where('posted_at', 'is', null)
    .where('voided_at', 'is', null)
    .where('lapses_at', '<=', BigInt(now))
    .orderBy('account_id')
    .limit(LAPSED_MAX)
    .execute();
  for (const ids of inChunks(lapsed.map(({ id }) => id))) {
    await tx
      .updateTable('credit_transfers')
      .set({ voided_at: now })
      .where('id', 'in', ids)
      .execute();
  }
  for (const { account_id, key_id, created_at } of lapsed) {
    await tx
      .updateTable('credit_balances')
      .set((set) => ({ available: set('available', '+', 1n), held: set('held', '-', 1n) }))
      .where('account_id', '=', account_id)
      .execute();
    if (key_id === null) continue;
    await tx
      .updateTable('key_months')
      .set({ used: sql<bigint>`case when used < 1 then 0 else used - 1 end` })
      .where('key_id', '=', key_id)
      .where('month', '=', BigInt(monthOf(Number(created_at))))
      .execute();
  }
  return lapsed.length;
}
