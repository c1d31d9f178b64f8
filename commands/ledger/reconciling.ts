import { BASE_CHAIN_ID, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import type { Log } from '../../gateway/ground/domain/ports.js';
import { address, type Address, formatUsd, usdcUnits } from '../../gateway/ground/domain/units.js';
import { systemClock, systemRandom } from '../../gateway/ground/system.js';
import { createChainClient } from '../../gateway/money/chain/client.js';
import type { AuditBooks, PaymentFilter } from '../../gateway/money/ledger/audit.js';
import { paymentJson, paymentLine } from '../../gateway/money/ledger/report.js';
import { type Reconciliation, reconcile } from '../../gateway/money/settlement/reconcile.js';
import { createRpcChain } from '../../gateway/money/settlement/rpc-chain.js';
import { type ExitCode, UsageError } from '../command.js';
import { chainFacts } from './books.js';
import type { LedgerOptions } from './options.js';

/** What matters comes out as an answer or as an error. */
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Where the chain has to be read from, and whose transfers: payees may have changed since. */
async function survey(books: AuditBooks, filter: PaymentFilter) {
  const payees = new Set<Address>();
  let fromBlock: bigint | undefined;
  for await (const { block, authorization } of books.payments(filter)) {
    payees.add(authorization.to);
    if (block && (fromBlock === undefined || block.number < fromBlock)) fromBlock = block.number;
  }
  return { payees, fromBlock };
}

/** The books beside the chain, and the payees whose transfers were read. */
export interface Reconciled extends Reconciliation {
  readonly payees: ReadonlySet<Address>;
}

/**
 * Compares settled payments with the chain that the settings name: from a block on, or the newest
 * blocks, or else all since the first payment. Undefined when nothing has settled there.
 */
export async function reconcileBooks(
  books: AuditBooks,
  filter: PaymentFilter,
  { from, recentBlocks }: { readonly from?: bigint; readonly recentBlocks?: bigint },
): Promise<Reconciled | undefined> {
  const { urls, payTo } = await chainFacts();
  const settled: PaymentFilter = { ...filter, statuses: ['settled', 'final'] };
  const { payees, fromBlock: first } = await survey(books, settled);
  payees.add(address(payTo));
  if (first === undefined && from === undefined) return undefined;
  const client = createChainClient({
    urls,
    chainId: BASE_CHAIN_ID,
    clock: systemClock,
    random: systemRandom,
    log: quiet,
  });
  const chain = createRpcChain(BASE_CHAIN_ID, client);
  try {
    const newest = recentBlocks === undefined ? 0n : (await chain.block('latest')).number;
    const recent = newest - (recentBlocks ?? 0n);
    const fromBlock = from ?? (first !== undefined && first > recent ? first : recent);
    const payments = books.payments(settled);
    const asset = address(USDC_ADDRESS);
    const found = await reconcile(chain, { asset, payees: [...payees], payments }, { fromBlock });
    return { ...found, payees };
  } finally {
    await client.close();
  }
}

/** Prints the books beside the chain; 1 when a settled payment has no transfer. */
export async function compare(
  books: AuditBooks,
  { filter, isJson }: LedgerOptions,
  from?: bigint,
): Promise<ExitCode> {
  const found = await reconcileBooks(books, filter, { ...(from !== undefined && { from }) });
  if (!found) throw new UsageError('no payment has settled yet');
  if (isJson) console.log(foundJson(found));
  else print(found);
  return found.missing.length > 0 ? 1 : 0;
}

function foundJson({ payees: _, ...found }: Reconciled): string {
  const text = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return JSON.stringify({ ...found, missing: found.missing.map(paymentJson) }, text);
}

function print(found: Reconciled): void {
  const { matched, missing, others, toBlock, payees } = found;
  const usd = (units: bigint) => `${formatUsd(usdcUnits(units))} USD`;
  const total = others.reduce((sum, { value }) => sum + value, 0n);
  console.log(`Blocks ${found.fromBlock} to ${toBlock}, transfers to ${[...payees].join(', ')}`);
  console.log(`  settled in the books  ${found.settled.count}, ${usd(found.settled.units)}`);
  console.log(`  found on the chain    ${matched.count}, ${usd(matched.units)}`);
  console.log(`  missing on the chain  ${missing.length}`);
  for (const payment of missing) console.log(`    ${paymentLine(payment)}`);
  console.log(`  other transfers       ${others.length}, ${usd(total)}`);
  for (const { transaction, from: payer, value, block } of others) {
    console.log(`    ${transaction} in block ${block}: ${usd(value)} from ${payer}`);
  }
}
