import type { Kysely } from 'kysely';
import type { Store } from '../../ground/store/store.js';

/** What is read here of the ledger's payments; it alone writes them. */
interface PaymentTables {
  payments: {
    request_id: string;
    /** The transaction that made the transfer. */
    transaction_hash: string | null;
    settled_at: bigint | null;
    failed_at: bigint | null;
    released_at: bigint | null;
  };
}

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

/** By which transactions the payments of these requests have settled. */
export async function settledTransactions(
  store: Store,
  requestIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (requestIds.length === 0) return new Map();
  const rows = await store.read((db: Kysely<PaymentTables>) =>
    db
      .selectFrom('payments')
      .select(['request_id', 'transaction_hash'])
      .where('request_id', 'in', requestIds)
      .where('settled_at', 'is not', null)
      .execute(),
  );
  return new Map(
    rows.flatMap(({ request_id, transaction_hash: hash }) =>
      hash === null ? [] : [[request_id, hash] as const],
    ),
  );
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
