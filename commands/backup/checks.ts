import { openCredits } from '../../gateway/customers/credits/credits.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { systemClock, systemRandom } from '../../gateway/ground/system.js';
import { channelFaults } from '../../gateway/money/channel-books/soundness.js';
import { AuditBooks } from '../../gateway/money/ledger/audit.js';
import { ledgerFaults } from '../../gateway/money/ledger/soundness.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { type Reconciled, reconcileBooks } from '../ledger/reconciling.js';
import { BackupRefused } from './refused.js';

/** About a day on Base. */
const RECENT_BLOCKS = 43_200n;

/** Opens books that were put back somewhere. */
export function openRestored(file: string): Promise<Store> {
  const onFailed = (error: unknown) => {
    throw error;
  };
  const ports = { clock: systemClock, random: systemRandom, onFailed };
  return openStore({ location: file, migrations: MIGRATIONS }, ports);
}

/** What must always hold. @throws BackupRefused with the first things that do not. */
export async function checkRules(store: Store): Promise<void> {
  const accounts = await openCredits(store, systemClock, systemRandom).reconcile();
  const faults = [
    ...accounts.map((id) => `the balance of account ${id} differs from its movements`),
    ...(await ledgerFaults(store)),
    ...(await channelFaults(store)),
  ];
  if (faults.length === 0) return;
  const more = faults.length > 3 ? `, and ${faults.length - 3} more` : '';
  throw new BackupRefused('rule-broken', `${faults.slice(0, 3).join('; ')}${more}.`);
}

/**
 * Compares the settled payments of the last day with the chain. Undefined when nothing has settled.
 * @throws BackupRefused when a settled payment has no transfer; what the chain's endpoints say when
 * they cannot be asked.
 */
export async function checkChain(store: Store): Promise<Reconciled | undefined> {
  const books = new AuditBooks(store);
  const found = await reconcileBooks(books, {}, { recentBlocks: RECENT_BLOCKS });
  if (!found || found.missing.length === 0) return found;
  throw new BackupRefused(
    'chain-differs',
    `the chain lacks the transfers of ${found.missing.length} settled payments: see npm run ledger -- reconcile.`,
  );
}
