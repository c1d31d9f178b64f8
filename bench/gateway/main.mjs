// npm run bench:gateway: the gateway beside a bare Express route, beside search-core itself, and
// beside the reference middleware with its facilitator, in one run, in every way to pay. Ratios are
// what counts: both sides of each run in turn on the same machine.
//
//   npm run bench:gateway -- [--seconds N] [--payers 1,16,64] [--rpc-ms N] [--only PART]
//     [--searches 100,1000] [--rounds N] [--beside DIR] [--json]
//
// PART is rates, keyed, payments, channels or gas; --beside names another built checkout, whose
// keyed searches are measured in turn with these; --searches are those of each channel whose gas is counted.
//
// --rpc-ms makes every JSON-RPC answer, of both sides, N milliseconds later (default 0).
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkNode, ensureBuilt, ensureInstalled, root, step } from '../../scripts/steps.mjs';

checkNode();
await ensureInstalled();
await ensureBuilt();
if (!existsSync(join(root, 'bench/node_modules/@x402/express'))) {
  const args = ['install', '--prefix', 'bench', '--ignore-scripts', '--no-package-lock'];
  await step('installing the peers', 'npm', [...args, '--loglevel=error']);
}
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    payers: { type: 'string', default: '1,16,64' },
    'rpc-ms': { type: 'string', default: '0' },
    only: { type: 'string' },
    searches: { type: 'string', default: '100,1000' },
    rounds: { type: 'string', default: '3' },
    beside: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const rounds = Number(values.rounds);
const say = (text) => values.json || console.log(text);

const { default: autocannon } = await import('autocannon');
const { startModule, startGateway } = await import('./processes.mjs');
const { startRpcCounter } = await import('./rpc-counter.mjs');
const { pay } = await import('./payers.mjs');
const { startTestChain } = await import('../../dist/test/support/chain.js');

const folder = mkdtempSync(join(tmpdir(), 'search402-bench-'));
const index = join(folder, 'index');
spawnSync(process.execPath, ['dist/search-core/cli.js', 'starter', '--index', index], {
  cwd: root,
});
const core = await startModule('../../dist/search-core/main.js', {
  env: { SEARCH_CORE_LISTEN: '127.0.0.1:0', SEARCH_CORE_INDEX: index },
});
const ports = { PORT: '0', API_PORT: '0', OPS_PORT: '0', SEARCH_CORE_URL: core.url };
const { keyedRows } = await import('./keyed.mjs');
const { channelRows, gasRows } = await import('./channels.mjs');
const counts = values.payers.split(',').map(Number);
const surroundings = { folder, ports, core, say };
const parts = {
  rates,
  keyed: () => keyedRows({ folder, ports, seconds, rounds, beside: values.beside, say }),
  payments,
  channels: () => channelRows({ ...surroundings, counts, seconds }),
  gas: () =>
    gasRows({ ...surroundings, channels: 64, searches: values.searches.split(',').map(Number) }),
};
const report = {};
for (const [name, run] of Object.entries(parts)) {
  if (values.only === undefined || values.only === name) report[name] = await run();
}
await core.stop();
rmSync(folder, { recursive: true, force: true });
if (values.json) console.log(JSON.stringify(report, null, 2));

/** Requests per second of the cheap paths, each beside its peer. */
async function rates() {
  const dataDir = join(folder, 'rates');
  const gateway = await startGateway({ ...ports, DATA_DIR: dataDir, ADDRESS_RATE: '1000000' });
  const admin = (...args) =>
    spawnSync(process.execPath, ['dist/gateway/admin.js', ...args], {
      cwd: root,
      env: { ...process.env, DATA_DIR: dataDir },
      encoding: 'utf8',
    });
  admin('plan', 'development', 'enterprise', '--rate', '10000');
  const { apiKey } = JSON.parse(
    (await import('node:fs')).readFileSync(join(dataDir, 'dev.json'), 'utf8'),
  );
  const json = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query: 'sign typed data', maxResults: 5 });
  const quote = await fetch(`${gateway.url}/search`, { method: 'POST', headers: json, body });
  const bare = await startModule('./bare.mjs', {
    args: [
      JSON.stringify({ header: quote.headers.get('payment-required'), body: await quote.json() }),
    ],
  });
  const hit = async (url, headers, expected) => {
    const result = await autocannon({
      url: `${url}/search`,
      method: 'POST',
      headers: { ...json, ...headers },
      body,
      connections: 32,
      duration: seconds,
    });
    const wrong = result.requests.total - (result.statusCodeStats[expected]?.count ?? 0);
    if (wrong > 0) throw new Error(`${wrong} of ${result.requests.total} answers: not ${expected}`);
    return result.requests.average;
  };
  const compare = async (name, ours, theirs, aim) => {
    const pairs = [];
    await ours();
    await theirs();
    for (let round = 0; round < rounds; round += 1) pairs.push([await ours(), await theirs()]);
    const ratios = pairs.map(([a, b]) => a / b).sort((a, b) => a - b);
    const [mine, peer] = [0, 1].map((side) => median(pairs.map((pair) => pair[side])));
    const ratio = median(ratios);
    say(
      `${name.padEnd(52)} ${mine.toFixed(0).padStart(7)} /s  peer ${peer.toFixed(0).padStart(7)} /s` +
        `  ratio ${ratio.toFixed(2)} (${ratios[0].toFixed(2)} to ${ratios.at(-1).toFixed(2)}; aim ${aim})`,
    );
    return { name, perSecond: mine, peerPerSecond: peer, ratio, aim };
  };
  say(`32 connections, ${rounds} rounds of ${seconds} s in turn, medians`);
  const rows = [
    await compare(
      'unpaid challenges, beside a bare Express route',
      () => hit(gateway.url, {}, 402),
      () => hit(bare.url, {}, 402),
      0.7,
    ),
    await compare(
      'keyed searches, beside calling search-core',
      () => hit(gateway.url, { authorization: `Bearer ${apiKey}` }, 200),
      () => hit(core.url, {}, 200),
      'report',
    ),
  ];
  await bare.stop();
  await gateway.stop();
  return rows;
}

/** Paid searches, beside the reference, at blocks of two seconds as on Base. */
async function payments() {
  const rows = [];
  say('\nblocks of 2 s; one payer sends one search after the other');
  for (const count of counts) {
    const mine = await paid('search402', count);
    const peer = await paid('reference', count);
    const ratio = peer.perSecond > 0 ? mine.perSecond / peer.perSecond : Infinity;
    say(`${`${count} payers: searches per second`.padEnd(52)} ratio ${ratio.toFixed(2)}`);
    rows.push({ payers: count, search402: mine, reference: peer, ratio });
  }
  return rows;
}

async function paid(who, count) {
  const chain = await startTestChain({ blockTimeSeconds: 2 });
  const rpc = await startRpcCounter(chain.rpcUrl, Number(values['rpc-ms']));
  const payers = await chain.newPayers(count, { usdc: 1_000_000n });
  const wallet = { RELAYER_KEY: chain.relayerPrivateKey, PAY_TO: chain.payTo };
  const server =
    who === 'search402'
      ? await startGateway({
          ...ports,
          DATA_DIR: join(folder, `paid-${count}`),
          RPC_URLS: rpc.url,
          PAY_TO: chain.payTo,
          RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
          ADDRESS_RATE: '1000000',
        })
      : await startModule('./reference.mjs', {
          env: { ...wallet, RPC_URL: rpc.url, SEARCH_CORE_URL: core.url },
        });
  const blocks = watchBlocks(chain.client);
  await pay(
    server.url,
    payers.slice(0, 1).map(({ account }) => account),
    1,
  );
  rpc.take();
  const durationMs = Math.max(20, seconds * 2) * 1000;
  const run = await pay(
    server.url,
    payers.map(({ account }) => account),
    durationMs,
  );
  const calls = rpc.take();
  const row = await figures(chain, run, calls, blocks.seen);
  blocks.stop();
  await server.stop();
  await rpc.stop();
  await chain.stop();
  say(
    `${`  ${who}, ${count} payers`.padEnd(30)} ${row.perSecond.toFixed(2).padStart(6)} /s` +
      `  latency p50 ${row.p50Ms.toFixed(0)} p99 ${row.p99Ms.toFixed(0)} ms` +
      `  after the block p50 ${row.afterBlockP50Ms.toFixed(0)} p99 ${row.afterBlockP99Ms.toFixed(0)} ms` +
      `  RPC calls ${row.rpcCallsPerPayment.toFixed(2)}  gas ${row.gasPerPayment.toFixed(0)}` +
      `  paid ${row.paid} failed ${row.failed}`,
  );
  return row;
}

/** Notes when each block was first seen, from beside the counted endpoint. */
function watchBlocks(client) {
  const seen = new Map();
  const timer = setInterval(() => {
    client.getBlockNumber({ cacheTime: 0 }).then(
      (number) => seen.has(number) || seen.set(number, performance.now()),
      () => undefined,
    );
  }, 20);
  return { seen, stop: () => clearInterval(timer) };
}

async function figures(chain, { payments, failures, seconds: lasted }, calls, seen) {
  const transactions = new Map();
  for (const { transaction } of payments) {
    if (transactions.has(transaction)) continue;
    transactions.set(transaction, await chain.client.getTransactionReceipt({ hash: transaction }));
  }
  const gas = [...transactions.values()].reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0);
  const latencies = payments.map(({ sentAt, repliedAt }) => repliedAt - sentAt);
  const afterBlock = payments.map(
    ({ repliedAt, transaction }) => repliedAt - seen.get(transactions.get(transaction).blockNumber),
  );
  const rpcCalls = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const paidCount = payments.length;
  return {
    paid: paidCount,
    failed: [...failures.values()].reduce((sum, count) => sum + count, 0),
    failures: Object.fromEntries(failures),
    perSecond: paidCount / lasted,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    afterBlockP50Ms: quantile(afterBlock, 0.5),
    afterBlockP99Ms: quantile(afterBlock, 0.99),
    rpcCallsPerPayment: rpcCalls / Math.max(1, paidCount),
    rpcCalls: calls,
    transactions: transactions.size,
    gasPerPayment: gas / Math.max(1, paidCount),
  };
}

function quantile(list, q) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

function median(list) {
  return quantile(list, 0.5);
}
