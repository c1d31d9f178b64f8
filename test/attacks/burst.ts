/**
 * A crowd pays at the same moment: 1,000 good payments from 1,000 wallets. Asks whether those who do
 * not pay, and those with a key, have to wait for them, and what becomes of the payments.
 *
 *   node dist/test/attacks/burst.js [PAYMENTS]
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DevFacts } from '../../gateway/dev/facts.js';
import { address } from '../../gateway/ground/domain/units.js';
import { buildIndex } from '../../search-core/index/build.js';
import type { Page } from '../../search-core/page.js';
import { reachDevChain } from '../support/chain.js';
import { startGateway } from '../support/gateway-process.js';
import { newAttempt, PAYERS_PUBLIC_URL } from '../support/payer-client.js';
import { PAGES } from '../support/service.js';
import { ask } from './machine.js';
import type { AttackRow } from './row.js';

/** One answer to somebody who does not pay. */
export interface Probe {
  readonly kind: 'unpaid' | 'keyed';
  /** 0 when the connection broke. */
  readonly status: number;
  readonly ms: number;
}

export interface ProbeData {
  readonly url: string;
  readonly apiKey: string;
  readonly everyMs: number;
}

const QUIET_MS = 8000;
const PROBE_EVERY_MS = 60;
/** Addresses that the payers come from: fewer than 200 of them share one. */
const ADDRESSES = 10;
/** How long a payer goes on until it knows its outcome. */
const INSIST_MS = 180_000;

/** Runs the attack against a gateway of its own. */
export async function burst(payments = 1000): Promise<AttackRow> {
  const dataDir = mkdtempSync(join(tmpdir(), 'search402-burst-'));
  await buildIndex(join(dataDir, 'index'), from(PAGES));
  const gateway = await startGateway({
    DATA_DIR: dataDir,
    DEV_BLOCK_TIME_MS: '2000',
    PUBLIC_URL: PAYERS_PUBLIC_URL,
    LOG_LEVEL: 'warn',
  });
  try {
    const dev = JSON.parse(await readFile(join(dataDir, 'dev.json'), 'utf8')) as DevFacts;
    return await attack(gateway.url, dev, payments);
  } finally {
    gateway.process.kill('SIGTERM');
    await gateway.exited;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- a page source is asynchronous
async function* from(pages: readonly Page[]): AsyncGenerator<Page> {
  yield* pages;
}

async function attack(url: string, dev: DevFacts, payments: number): Promise<AttackRow> {
  const chain = await reachDevChain(dev.rpcUrl);
  const payers = await chain.newPayers(payments, { usdc: 50n });
  const headers: string[] = [];
  for (const payer of payers) {
    headers.push((await newAttempt(payer, address(dev.payTo))).header);
  }
  const { probes, stop } = watch({ url, apiKey: dev.apiKey, everyMs: PROBE_EVERY_MS });
  await sleep(QUIET_MS / 4);
  probes.length = 0;
  await sleep(QUIET_MS);
  const quiet = probes.splice(0);
  const startedMs = performance.now();
  const results = await Promise.all(headers.map((header, index) => pay(url, header, index)));
  const tookMs = performance.now() - startedMs;
  const during = probes.splice(0);
  await stop();
  return rowOf({ quiet, during, results, tookMs });
}

/** Starts the thread that asks; `probes` fills as answers come. */
function watch(data: ProbeData): { probes: Probe[]; stop(): Promise<unknown> } {
  const worker = new Worker(new URL('./burst-probe.js', import.meta.url), { workerData: data });
  const probes: Probe[] = [];
  worker.on('message', (probe: Probe) => probes.push(probe));
  return { probes, stop: () => worker.terminate() };
}

interface Paid {
  /** Milliseconds to the first answer, and what it was. */
  readonly firstMs: number;
  readonly first: string;
  /** What it came to in the end. */
  readonly last: string;
}

/** Pays as a careful client does: the same payment again after each 503, when it is told to. */
async function pay(url: string, header: string, index: number): Promise<Paid> {
  const localAddress = `127.0.2.${1 + (index % ADDRESSES)}`;
  const startedMs = performance.now();
  let first: { firstMs: number; first: string } | undefined;
  for (;;) {
    const response = await ask(
      `${url}/search`,
      { localAddress },
      { headers: { 'payment-signature': header }, body: '{"query":"lighthouse"}' },
    );
    const body = JSON.parse(response.body) as { code?: string };
    const answer = body.code ?? String(response.status);
    first ??= { firstMs: performance.now() - startedMs, first: answer };
    const isOver = response.status !== 503 || performance.now() - startedMs > INSIST_MS;
    if (isOver) return { ...first, last: answer };
    await sleep(1000 * Number(response.headers['retry-after'] ?? 1));
  }
}

function rowOf(seen: {
  readonly quiet: readonly Probe[];
  readonly during: readonly Probe[];
  readonly results: readonly Paid[];
  readonly tookMs: number;
}): AttackRow {
  const { quiet, during, results, tookMs } = seen;
  const of = (probes: readonly Probe[], kind: Probe['kind']) =>
    probes.filter((probe) => probe.kind === kind).map(({ ms }) => ms);
  const figures = (kind: Probe['kind']) =>
    `${kind} p50/p99 ${ms(of(quiet, kind), 0.5)}/${ms(of(quiet, kind), 0.99)} ms before, ` +
    `${ms(of(during, kind), 0.5)}/${ms(of(during, kind), 0.99)} ms during`;
  const slow = (['unpaid', 'keyed'] as const).flatMap((kind) => {
    const limit = 2 * quantile(of(quiet, kind), 0.99);
    return of(during, kind).filter((one) => one > limit);
  });
  const firsts = count(results.map(({ first }) => first));
  const paid = results.filter(({ last }) => last === '200').length;
  return {
    attack: `a burst of ${results.length} good payments`,
    tries: during.length,
    gotThrough: slow.length,
    costToAttacker: `${results.length} payments`,
    costToUs: `${(tookMs / 1000).toFixed(0)} s of work`,
    note:
      `got through: an unpaid or keyed answer took over twice the p99 before; ${figures('unpaid')}; ` +
      `${figures('keyed')}; first answers ${firsts}, p99 ` +
      `${ms(
        results.map(({ firstMs }) => firstMs),
        0.99,
      )} ms; ${paid} settled in the end`,
  };
}

function count(answers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, times]) => `${answer} × ${times}`).join(', ');
}

function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)] ?? NaN;
}

const ms = (values: readonly number[], q: number): string => quantile(values, q).toFixed(0);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const row = await burst(Number(process.argv[2] ?? 1000));
  process.stdout.write(`${JSON.stringify(row, null, 2)}\n`);
}
