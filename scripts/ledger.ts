// npm run ledger: what the books say about payments, and whether the chain agrees.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../gateway/config.js';
import { createChainClient } from '../gateway/chain/client.js';
import { readDevFacts } from '../gateway/dev/facts.js';
import type { Log } from '../gateway/domain/ports.js';
import { address, type Address, formatUsd, usdcUnits } from '../gateway/domain/units.js';
import { AuditBooks, type PaymentFilter } from '../gateway/ledger/audit.js';
import {
  CSV_HEADER,
  csvRecord,
  explainPayment,
  paymentJson,
  paymentLine,
} from '../gateway/ledger/report.js';
import { MIGRATIONS } from '../gateway/migrations.js';
import { reconcile } from '../gateway/settlement/reconcile.js';
import { createRpcChain } from '../gateway/settlement/rpc-chain.js';
import { openStore } from '../gateway/store/open.js';
import { systemClock, systemRandom } from '../gateway/system.js';
import { BASE_CHAIN_ID, USDC_ADDRESS } from '../contracts-abi/addresses.js';
import {
  type Command,
  HELP,
  type LedgerOptions,
  readOptions,
  UsageError,
} from './ledger/options.js';

/** What matters comes out as an answer or as an error. */
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const config = () => readConfig(process.env, []);

async function openBooks() {
  const { DATABASE_URL, DATA_DIR } = config();
  const location = DATABASE_URL ?? join(DATA_DIR, 'search402.db');
  if (DATABASE_URL === undefined && !existsSync(location)) {
    throw new UsageError(
      `there are no books at ${location}: start the gateway once, or set DATA_DIR`,
    );
  }
  const ports = {
    clock: systemClock,
    random: systemRandom,
    onFailed: (error: unknown) => {
      throw error;
    },
  };
  return openStore({ location, migrations: MIGRATIONS }, ports);
}

/** The chain and the payee: as configured, or as the development start in DATA_DIR says. */
async function chainFacts(): Promise<{ urls: readonly string[]; payTo: string }> {
  const { chain, DATA_DIR } = config();
  if (chain.kind === 'mainnet') return { urls: chain.rpcUrls, payTo: chain.payTo };
  const dev = await readDevFacts(join(DATA_DIR, 'dev.json'));
  if (dev?.rpcUrl === undefined || dev.payTo === undefined) {
    throw new UsageError('reconcile needs RPC_URLS and PAY_TO, or a development start in DATA_DIR');
  }
  return { urls: [dev.rpcUrl], payTo: dev.payTo };
}

async function list(books: AuditBooks, { filter, isJson }: LedgerOptions, limit: number) {
  let [count, units] = [0, 0n];
  for await (const payment of books.payments(filter)) {
    if (count < limit) {
      console.log(isJson ? JSON.stringify(paymentJson(payment)) : paymentLine(payment));
    }
    count += 1;
    units += payment.authorization.value;
  }
  if (isJson) return;
  const more = count > limit ? `, of which ${limit} are shown` : '';
  console.log(
    `${count} payment${count === 1 ? '' : 's'}${more}, ${formatUsd(usdcUnits(units))} USD`,
  );
}

async function explain(books: AuditBooks, name: string, isJson: boolean): Promise<void> {
  const payments = await books.find(name);
  if (payments.length === 0) throw new UsageError(`the books know no payment ${name}`);
  for (const payment of payments) {
    const intents = await books.intentsOf(payment.id);
    if (!isJson) {
      console.log(explainPayment(payment, intents).join('\n'));
      continue;
    }
    const transactions = intents.flatMap(({ relayer, nonce, transactions: signed }) =>
      signed.map(({ hash, signedAt }) => ({ hash, relayer, nonce: String(nonce), signedAt })),
    );
    console.log(JSON.stringify({ ...paymentJson(payment), transactions }));
  }
}

async function exportCsv(books: AuditBooks, filter: PaymentFilter): Promise<void> {
  console.log(CSV_HEADER);
  for await (const payment of books.payments(filter)) console.log(csvRecord(payment));
}

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

async function compare(books: AuditBooks, { filter, isJson }: LedgerOptions, from?: bigint) {
  const { urls, payTo } = await chainFacts();
  const settled: PaymentFilter = { ...filter, statuses: ['settled', 'final'] };
  const { payees, fromBlock = from } = await survey(books, settled);
  payees.add(address(payTo));
  if (fromBlock === undefined) throw new UsageError('no payment has settled yet');
  const client = createChainClient({
    urls,
    chainId: BASE_CHAIN_ID,
    clock: systemClock,
    random: systemRandom,
    log: quiet,
  });
  const chain = createRpcChain(BASE_CHAIN_ID, client);
  const asset = address(USDC_ADDRESS);
  const found = await reconcile(
    chain,
    { asset, payees: [...payees], payments: books.payments(settled) },
    { fromBlock: from ?? fromBlock },
  ).finally(() => client.close());
  const { matched, missing, others, toBlock } = found;
  if (missing.length > 0) process.exitCode = 1;
  const usd = (units: bigint) => `${formatUsd(usdcUnits(units))} USD`;
  const total = others.reduce((sum, { value }) => sum + value, 0n);
  if (isJson) {
    const text = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
    console.log(JSON.stringify({ ...found, missing: missing.map(paymentJson) }, text));
    return;
  }
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

async function run(options: LedgerOptions, command: Exclude<Command, { kind: 'help' }>) {
  const store = await openBooks();
  const books = new AuditBooks(store);
  try {
    switch (command.kind) {
      case 'list':
        await list(books, options, command.limit);
        break;
      case 'explain':
        await explain(books, command.name, options.isJson);
        break;
      case 'reconcile':
        await compare(books, options, command.fromBlock);
        break;
      case 'export':
        await exportCsv(books, options.filter);
        break;
    }
  } finally {
    await store.close();
  }
}

try {
  const options = readOptions(process.argv.slice(2));
  const { command } = options;
  if (command.kind === 'help') process.stdout.write(HELP);
  else await run(options, command);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
