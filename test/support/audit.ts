/** What must hold between payers, books and chain, told from the chain's own logs. */
import type { Bytes32 } from '../../gateway/ground/domain/units.js';
import { AuditBooks } from '../../gateway/money/ledger/audit.js';
import type { Payment } from '../../gateway/money/ledger/payment.js';
import { TransferBooks } from '../../gateway/money/ledger/transfers.js';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { reconcile } from '../../gateway/money/settlement/reconcile.js';
import { createRpcChain } from '../../gateway/money/settlement/rpc-chain.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import type { ReachedChain } from './chain.js';
import type { Attempt } from './payer-client.js';
import { realClock, realRandom } from './ports.js';
import { countingRpc } from './settlements.js';

export interface Audit {
  /** Payments of the books by what became of them. */
  readonly settled: number;
  readonly unpaid: number;
  readonly open: number;
  /** A sentence for everything that must not be. */
  readonly violations: readonly string[];
}

/** Opens the books of a gateway that runs beside. */
export function openBooks(location: string): Promise<Store> {
  const onFailed = (error: unknown) => {
    throw error;
  };
  const ports = { clock: realClock, random: realRandom, onFailed };
  return openStore({ location, migrations: MIGRATIONS }, ports);
}

/** How many payments are neither at an end nor final. */
export async function countOpen(store: Store): Promise<number> {
  const statuses = [
    'reserved',
    'served',
    'signed',
    'broadcast',
    'preconfirmed',
    'reorged',
  ] as const;
  const open: string[] = [];
  for await (const { id } of new AuditBooks(store).payments({ statuses })) open.push(id);
  return open.length;
}

/**
 * Compares what payers saw with the books, and both with the chain: each authorization moves money
 * once at the most, what was delivered was paid by the transaction of its receipt, what is settled
 * in the books is on the chain and nothing else is, and the relayer's nonces have no gap.
 */
export async function audit(
  chain: ReachedChain,
  store: Store,
  attempts: readonly Attempt[],
): Promise<Audit> {
  const books = new AuditBooks(store);
  const payments: Payment[] = [];
  for await (const payment of books.payments({})) payments.push(payment);
  const violations = [
    ...(await compareWithChain(chain, payments, attempts)),
    ...(await reconciled(chain, books)),
    ...(await contiguous(chain, store)),
  ];
  const count = (...statuses: readonly string[]) =>
    payments.filter(({ status }) => statuses.includes(status)).length;
  const [settled, unpaid] = [count('settled', 'final'), count('released', 'failed')];
  return { settled, unpaid, open: payments.length - settled - unpaid, violations };
}

async function compareWithChain(
  chain: ReachedChain,
  payments: readonly Payment[],
  attempts: readonly Attempt[],
): Promise<string[]> {
  const uses = tally((await chain.uses()).map(({ nonce }) => nonce));
  const transfers = await chain.transfers();
  const toPayee = transfers.filter(({ to }) => to === chain.payTo);
  const paidBy = tally(toPayee.map(({ from, transaction }) => `${from} ${transaction}`));
  const settled = new Set<Bytes32>();
  for (const { status, authorization } of payments) {
    if (status === 'settled' || status === 'final') settled.add(authorization.nonce);
  }
  const violations: string[] = [];
  const say = (nonce: Bytes32, what: string) => violations.push(`authorization ${nonce} ${what}`);
  for (const [nonce, count] of uses) if (count > 1) say(nonce, `was used ${count} times`);
  for (const nonce of settled) {
    if (!uses.has(nonce)) say(nonce, 'is settled in the books and was never used');
  }
  for (const { nonce, payer, delivered, refused, detail } of attempts) {
    const isPaid = uses.has(nonce);
    if (delivered && !paidBy.has(`${payer} ${delivered.transaction}`)) {
      say(nonce, 'was delivered, but the transaction of its receipt did not pay the payee');
    }
    if (isPaid && !settled.has(nonce)) say(nonce, 'was used on the chain and is not in the books');
    if (isPaid && refused !== undefined)
      say(nonce, `was used although it got ${refused}: ${detail}`);
  }
  if (toPayee.length !== uses.size) {
    violations.push(`${uses.size} authorizations were used by ${toPayee.length} transfers`);
  }
  return violations;
}

function tally<Key>(keys: readonly Key[]): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

async function reconciled(chain: ReachedChain, books: AuditBooks): Promise<string[]> {
  const { missing, others } = await reconcile(
    createRpcChain(chain.chainId, countingRpc(chain.rpcUrl)),
    {
      asset: chain.asset,
      payees: [chain.payTo],
      payments: books.payments({ statuses: ['settled', 'final'] }),
    },
    { fromBlock: 0n },
  );
  return [
    ...missing.map(({ id }) => `payment ${id} is settled without a transfer`),
    ...others.map(({ transaction }) => `the books do not know a transfer of ${transaction}`),
  ];
}

async function contiguous(chain: ReachedChain, store: Store): Promise<string[]> {
  const { relayerAddress, chainId, client } = chain;
  const last = await new TransferBooks(store, realClock).intents.lastNonce(chainId, relayerAddress);
  const used = await client.getTransactionCount({ address: relayerAddress });
  const known = last === undefined ? 0 : Number(last) + 1;
  return used === known ? [] : [`the chain has ${used} nonces of the relayer, the books ${known}`];
}
