// Ways to pay beside each other: vouchers of channels here and at the official server, and a keyed
// search of the same gateway. Blocks of two seconds as on Base; the payers remember the challenge and
// sign alike for both servers.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../scripts/steps.mjs';
import { startTestChain } from '../../dist/test/support/chain.js';
import { startGateway, startModule } from './processes.mjs';
import { startRpcCounter } from './rpc-counter.mjs';
import { openChannel, payByKey, payByVoucher } from './voucher-payers.mjs';

const DEPOSIT = 1_000_000n;
const PRICE = 50;
/** Dollars for an ETH at which no claim ever pays for itself, and at which every claim does. */
const [NEVER, ALWAYS] = ['1000000', '0.0000001'];
const AUTHORIZER_KEY = `0x${'a7'.repeat(32)}`;
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
const quantile = (list, q) =>
  [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))] ?? NaN;

/** One row for each number of payers: here, at the official server, and with a key. */
export async function channelRows({ counts, seconds, folder, ports, core, say }) {
  say('\nchannels: vouchers here and at the official server, beside keyed searches here');
  const rows = [];
  for (const count of counts) {
    const ours = await voucherRun('search402', { count, seconds, folder, ports, core });
    const theirs = await voucherRun('reference', { count, seconds, folder, ports, core });
    for (const [who, run] of Object.entries({ search402: ours, reference: theirs })) {
      say(line(`${who}, ${count} payers, vouchers`, run));
    }
    say(line(`search402, ${count} callers, keyed`, ours.keyed));
    say(
      `${`  vouchers over keyed: p50 ${ratio(ours.p50Ms, ours.keyed.p50Ms)}`.padEnd(30)}` +
        `  processor time ${ratio(ours.cpuMs, ours.keyed.cpuMs)}` +
        `  vouchers over the official server: ${ratio(ours.perSecond, theirs.perSecond)} per second`,
    );
    rows.push({ payers: count, search402: ours, reference: theirs });
  }
  return rows;
}

/** Gas for each search, of deposits, claims and payout, at so many searches a channel. */
export async function gasRows({ channels, searches, folder, ports, core, say }) {
  say(`\ngas for each search, ${channels} channels`);
  const rows = [];
  for (const each of searches) {
    const run = await voucherRun('search402', {
      ...{ count: channels, searches: each, folder, ports, core },
    });
    // Dollars for a unit of gas: gwei × 10⁻⁹ ETH × 3,000.
    const share = (gwei) => (100 * run.gas * gwei * 1e-9 * 3000) / (PRICE / 1e6);
    say(
      `${`  ${each} searches a channel`.padEnd(30)} ${run.gas.toFixed(0).padStart(6)} gas` +
        `  of the price: ${share(0.005).toFixed(1)} % at 0.005 gwei, ` +
        `${share(0.05).toFixed(1)} % at 0.05 gwei`,
    );
    rows.push({ searches: each, gas: run.gas, shareAt005: share(0.005), shareAt05: share(0.05) });
  }
  return rows;
}

async function voucherRun(who, { count, seconds, searches, folder, ports, core }) {
  const chain = await startTestChain({ blockTimeSeconds: 2 });
  const rpc = await startRpcCounter(chain.rpcUrl, 0);
  const payers = await chain.newPayers(count, { usdc: DEPOSIT });
  const dataDir = join(folder, `channels-${who}-${count}-${searches ?? 'timed'}`);
  const gateway = (ethUsd) =>
    startGateway({
      ...ports,
      DATA_DIR: dataDir,
      RPC_URLS: rpc.url,
      PAY_TO: chain.payTo,
      RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
      ADDRESS_RATE: '1000000',
      CHANNELS: 'on',
      CHANNEL_MIN_DEPOSIT_USD: '0.05',
      ETH_USD: ethUsd,
    });
  let server =
    who === 'search402'
      ? await gateway(NEVER)
      : await startModule('./reference-channels.mjs', {
          env: {
            ...{ RELAYER_KEY: chain.relayerPrivateKey, PAY_TO: chain.payTo, AUTHORIZER_KEY },
            ...{ RPC_URL: rpc.url, SEARCH_CORE_URL: core.url },
          },
        });
  const opened = await Promise.all(payers.map((payer) => openChannel(server.url, payer, DEPOSIT)));
  // Deposits are safe, and the gateway has looked: until then only a little of each may be spent.
  await chain.mine(64);
  await new Promise((resolve) => setTimeout(resolve, 12_000));
  const until =
    searches === undefined ? { durationMs: seconds * 1000 } : { searches: searches - 1 };
  rpc.take();
  const before = server.cpuMs();
  const run = await payByVoucher(opened, until);
  const row = figures(run, server.cpuMs() - before);
  row.rpcCalls = sum(Object.values(rpc.take()));
  if (who === 'search402' && searches === undefined) {
    const start = server.cpuMs();
    const keyed = await payByKey(server.url, keyOf(dataDir), count, until);
    row.keyed = figures(keyed, server.cpuMs() - start);
  }
  if (searches !== undefined) {
    await server.stop();
    server = await gateway(ALWAYS);
    row.gas = (await gasOf(chain, opened, count * searches)) / (count * searches);
  }
  await server.stop();
  await rpc.stop();
  await chain.stop();
  return row;
}

function figures({ latencies, failures, seconds }, cpuMs) {
  const paid = latencies.length;
  return {
    paid,
    failed: sum([...failures.values()]),
    perSecond: paid / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    cpuMs: cpuMs / Math.max(1, paid),
  };
}

/** A key of a plan that limits nothing here. */
function keyOf(dataDir) {
  const admin = (...args) => {
    const { stdout, stderr } = spawnSync(process.execPath, ['dist/gateway/admin.js', ...args], {
      cwd: root,
      env: { ...process.env, DATA_DIR: dataDir },
      encoding: 'utf8',
    });
    if (stderr) throw new Error(stderr);
    return stdout;
  };
  const id = admin('create', 'bench', '--plan', 'enterprise', '--credits', '1000000').trim();
  admin('plan', id, 'enterprise', '--rate', '10000');
  return admin('key', id, 'bench').trim().split(/\s/)[0];
}

/** Waits until the chain has every unit claimed, and adds up what the relayer's transactions used. */
async function gasOf(chain, opened, searches) {
  const expected = BigInt(searches * PRICE);
  const deadline = Date.now() + 120_000;
  while ((await chain.balance(chain.payTo)) < expected) {
    if (Date.now() > deadline) throw new Error('not everything was claimed and paid out');
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const head = await chain.client.getBlockNumber();
  let gas = 0n;
  for (let number = 0n; number <= head; number += 1n) {
    const block = await chain.client.getBlock({ blockNumber: number, includeTransactions: true });
    for (const { hash, from, to } of block.transactions) {
      if (from.toLowerCase() !== chain.relayerAddress || !to) continue;
      gas += (await chain.client.getTransactionReceipt({ hash })).gasUsed;
    }
  }
  return Number(gas);
}

const ratio = (a, b) => (a / b).toFixed(2);

const line = (name, { perSecond, p50Ms, p99Ms, cpuMs, rpcCalls, paid, failed }) =>
  `${`  ${name}`.padEnd(38)} ${perSecond.toFixed(1).padStart(7)} /s  p50 ${p50Ms.toFixed(1)} ` +
  `p99 ${p99Ms.toFixed(1)} ms  processor ${cpuMs.toFixed(2)} ms` +
  `${rpcCalls === undefined ? '' : `  RPC calls ${(rpcCalls / paid).toFixed(3)} each`}` +
  `  paid ${paid} failed ${failed}`;
