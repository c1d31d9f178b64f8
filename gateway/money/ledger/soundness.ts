import { sql } from 'kysely';
import type { Store } from '../../ground/store/store.js';
import { AuditBooks } from './audit.js';
import type { LedgerTx } from './transition.js';

/**
 * What must hold of the ledger at any time, whoever wrote it: a sentence for each thing that does not.
 * Reads every payment.
 */
export async function ledgerFaults(store: Store): Promise<readonly string[]> {
  const faults: string[] = [];
  for await (const payment of new AuditBooks(store).payments({ statuses: ['settled', 'final'] })) {
    const { id, block, transaction } = payment;
    if (!block || !transaction) faults.push(`payment ${id} is settled without a transaction`);
  }
  return [...faults, ...(await nonceFaults(store))];
}

/** Relayer nonces are contiguous, one intent each. */
function nonceFaults(store: Store): Promise<readonly string[]> {
  return store.read(async (db: LedgerTx) => {
    const rows = await db
      .selectFrom('intents')
      .select(['relayer', sql<bigint>`count(*)`.as('count')])
      .select(sql<bigint>`max(relayer_nonce) - min(relayer_nonce) + 1`.as('span'))
      .groupBy(['chain_id', 'relayer'])
      .execute();
    return rows
      .filter(({ count, span }) => count !== span)
      .map(({ relayer, count, span }) => `relayer ${relayer} has ${count} of ${span} nonces`);
  });
}
