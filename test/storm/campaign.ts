import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../gateway/ground/store/store.js';
import { audit, type Audit, countOpen, openBooks } from '../support/audit.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { goodAnswer, startFakeSearchCore } from '../support/fake-search-core.js';
import { startGateway } from '../support/gateway-process.js';
import { type Attempt, insist, PAYERS_PUBLIC_URL } from '../support/payer-client.js';
import {
  delay,
  duplicate,
  httpStatus,
  lies,
  malformed,
  reset,
  resetAfter,
  type Rule,
  seededRandom,
  startRpcProxy,
  swallowAnswer,
  truncated,
} from '../support/rpc-proxy.js';
import {
  drawWay,
  MAY_BE_PAID,
  type Meanwhile,
  paymentsOf,
  type Way,
  welcomeStrangers,
} from './ways.js';

export interface StormOptions {
  readonly payments: number;
  /** Part of the JSON-RPC exchanges that go wrong, 0 to 1. */
  readonly faults: number;
  /** Payers at once, each with one payment after the other. */
  readonly payers: number;
  readonly blockTimeSeconds: number;
  readonly seed: number;
  onProgress?(done: number): void;
}

export interface StormReport {
  /** Payments by what became of them: `paid`, or the refusal. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly audit: Audit;
  /** From the first payment to the moment at which nothing was open any more, in seconds. */
  readonly seconds: number;
  /** From the last payment's first sending to that moment, in seconds. */
  readonly drainSeconds: number;
  readonly exchanges: { readonly total: number; readonly spoiled: number };
  /** Transactions of the relayer. */
  readonly transactions: number;
}

/** Longest wait for one payment's outcome, and for the books to have nothing open. */
const OUTCOME_MS_MAX = 180_000;

const EXCHANGE_FAULTS = [
  reset,
  resetAfter,
  swallowAnswer,
  malformed,
  truncated,
  duplicate,
  delay(800),
  httpStatus(502),
];

/** Rules under which this part of all exchanges goes wrong, and a few receipts are made up. */
function rulesOf(faults: number): Rule[] {
  const probability = 1 - (1 - faults) ** (1 / EXCHANGE_FAULTS.length);
  return [
    ...EXCHANGE_FAULTS.map((fault) => ({ fault, probability })),
    { method: 'eth_getTransactionReceipt', fault: lies.receipt, probability: faults / 20 },
  ];
}

/**
 * Lets payers, some of them cheats, pay the real gateway on a real chain whose two JSON-RPC
 * endpoints fail and lie, until every payment has an outcome and the books have nothing open; then
 * compares payers, books and the chain's logs.
 */
export async function runStorm(options: StormOptions): Promise<StormReport> {
  const chain = await startTestChain({ blockTimeSeconds: options.blockTimeSeconds });
  const proxies = [
    await startRpcProxy(chain.rpcUrl, { seed: options.seed }),
    await startRpcProxy(chain.rpcUrl, { seed: options.seed + 1 }),
  ];
  const meanwhile: Meanwhile = new Map();
  const core = await startCore(meanwhile);
  const dataDir = await mkdtemp(join(tmpdir(), 'search402-storm-'));
  const gateway = await startGateway({
    DATA_DIR: dataDir,
    SEARCH_CORE_URL: core.url,
    PUBLIC_URL: PAYERS_PUBLIC_URL,
    LOG_LEVEL: 'error',
    RPC_URLS: proxies.map(({ url }) => url).join(','),
    PAY_TO: chain.payTo,
    RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    ADDRESS_RATE: '1000000',
  });
  const books = await openBooks(join(dataDir, 'search402.db'));
  try {
    await welcomeStrangers(chain);
    for (const proxy of proxies) proxy.rules(rulesOf(options.faults));
    const startedMs = performance.now();
    const { sent, lastSentMs } = await payAll(options, chain, gateway.url, meanwhile);
    await drained(books, gateway.output);
    const drainedMs = performance.now();
    const audited = await audit(
      chain,
      books,
      sent.map(({ attempt }) => attempt),
    );
    const { relayerAddress: address } = chain;
    const tallies = proxies.map((proxy) => proxy.exchanges());
    return {
      outcomes: outcomesOf(sent),
      audit: { ...audited, violations: [...audited.violations, ...unexpected(sent)] },
      seconds: (drainedMs - startedMs) / 1000,
      drainSeconds: (drainedMs - lastSentMs) / 1000,
      exchanges: {
        total: tallies.reduce((sum, { total }) => sum + total, 0),
        spoiled: tallies.reduce((sum, { spoiled }) => sum + spoiled, 0),
      },
      transactions: await chain.client.getTransactionCount({ address }),
    };
  } finally {
    await books.close();
    gateway.process.kill('SIGTERM');
    await gateway.exited;
    await core.stop();
    for (const proxy of proxies) await proxy.stop();
    await chain.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** A search-core during whose searches things happen. */
async function startCore(meanwhile: Meanwhile) {
  const core = await startFakeSearchCore();
  core.behave((request, response, body) => {
    const { query } = JSON.parse(body) as { query: string };
    const happening = meanwhile.get(query)?.() ?? Promise.resolve();
    // What did not happen shows in the outcome.
    void happening.catch(() => undefined).then(() => response.end(goodAnswer(request)));
  });
  return core;
}

interface Sent {
  readonly way: Way;
  readonly attempt: Attempt;
}

async function payAll(
  { payments, payers: atOnce, seed, onProgress }: StormOptions,
  chain: TestChain,
  url: string,
  meanwhile: Meanwhile,
): Promise<{ sent: readonly Sent[]; lastSentMs: number }> {
  const random = seededRandom(seed);
  const sent: Sent[] = [];
  let [begun, done, lastSentMs] = [0, 0, 0];
  const pay = async () => {
    while (begun < payments) {
      const way = drawWay(random);
      begun += way === 'twice' ? 2 : 1;
      const payer = await chain.newPayer({ usdc: 50n });
      const attempts = await paymentsOf(way, payer, chain, meanwhile);
      sent.push(...attempts.map((attempt) => ({ way, attempt })));
      lastSentMs = performance.now();
      await Promise.all(
        attempts.map((attempt) => insist(url, attempt, { withinMs: OUTCOME_MS_MAX })),
      );
      onProgress?.((done += attempts.length));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, pay));
  return { sent, lastSentMs };
}

async function drained(books: Store, output: () => string): Promise<void> {
  const deadline = Date.now() + OUTCOME_MS_MAX;
  while ((await countOpen(books)) > 0) {
    if (Date.now() > deadline) throw new Error(`payments stay open: ${output()}`);
    await sleep(100);
  }
}

function outcomesOf(sent: readonly Sent[]): Record<string, number> {
  const outcomes: Record<string, number> = {};
  for (const { way, attempt } of sent) {
    const outcome = `${way}: ${attempt.delivered ? 'paid' : (attempt.refused ?? 'unknown')}`;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}

/** Payments with an outcome that their way cannot have. */
function unexpected(sent: readonly Sent[]): string[] {
  return sent.flatMap(({ way, attempt }) =>
    MAY_BE_PAID[way].includes(attempt.delivered !== undefined)
      ? []
      : [
          `a ${way} payment, ${attempt.nonce}, ended as ${attempt.refused ?? 'paid'}: ${attempt.detail ?? ''}`,
        ],
  );
}
