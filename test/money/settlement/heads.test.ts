import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createHeadFeed } from '../../../gateway/money/chain/head-feed.js';
import { readConfig } from '../../../gateway/wiring/config.js';
import { createLog } from '../../../gateway/ground/observe/log.js';
import { startService } from '../../../gateway/wiring/service.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { startTcpRelay } from '../../support/tcp-relay.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';
import { until } from '../../support/until.js';

removeTemporaries();
const BLOCK_MS = 500;
let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain({ blockTimeSeconds: BLOCK_MS / 1000 });
});
afterAll(() => chain.stop());
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A settlement that anvil tells of its blocks, over a way that can be cut. */
async function announced() {
  const relay = await startTcpRelay(chain.rpcUrl);
  cleanups.push(() => relay.stop());
  const bench = await startBench(chain, { settings: { blockTimeMs: BLOCK_MS } });
  cleanups.push(() => bench.discard());
  const feed = createHeadFeed({
    url: `ws://${relay.host}`,
    chainId: chain.chainId,
    blockTimeMs: BLOCK_MS,
    clock: realClock,
    random: realRandom,
    log: silentLog,
  });
  cleanups.push(() => feed.close());
  feed.listen(() => bench.settlement.hint());
  await until(() => feed.status().heads > 0);
  return { relay, bench, feed };
}

/** Serves and settles one payment; `meanwhile` happens once its transaction is on its way. */
async function pay(bench: Bench, meanwhile: () => void = () => undefined) {
  const payer = await chain.newPayer({ usdc: 100n });
  const { id } = await bench.served(await chain.sign(payer, { value: 50n }));
  const settling = bench.settlement.settle(id, { waitMs: 30_000 });
  await until(async () => (await bench.ledger.get(id))?.facts.broadcastAt !== undefined);
  meanwhile();
  expect(await settling).toMatchObject({ kind: 'settled' });
  expect(await chain.transfers(payer.address)).toHaveLength(1);
}

describe("with anvil's own announcements, a payment settles once", () => {
  test('when nothing goes wrong', async () => {
    const { bench, feed } = await announced();
    for (let count = 0; count < 3; count += 1) await pay(bench);
    expect(feed.status()).toMatchObject({ isUp: true, losses: 0 });
  });

  test('when the connection is lost while its block is waited for, and comes back', async () => {
    const { bench, feed, relay } = await announced();
    await pay(bench, () => relay.cut());
    await until(() => feed.status().losses === 1 && feed.status().isUp);
    await pay(bench);
  });

  test('when nobody can be reached any more', async () => {
    const { bench, feed, relay } = await announced();
    await pay(bench, () => {
      relay.isDown = true;
    });
    await until(() => !feed.status().isUp);
    await pay(bench);
    relay.isDown = false;
    await until(() => feed.status().isUp);
  });

  test('when the connection stays open and says nothing', async () => {
    const { bench, feed, relay } = await announced();
    await pay(bench, () => {
      relay.isSilent = true;
    });
    await pay(bench);
    await until(() => feed.status().losses > 0);
    relay.isSilent = false;
    const { heads } = feed.status();
    await until(() => feed.status().heads > heads);
    await pay(bench);
  });
});

test('false announcements without end cause a bounded number of looks in a block time', async () => {
  const blockTimeMs = 400;
  const bench = await startBench(chain, {
    settings: { blockTimeMs, rebroadcastAfterMs: 60_000, replaceAfterMs: 60_000 },
    // Never in a block: the looks go on.
    chain: (real) => ({ ...real, broadcast: () => Promise.resolve({ kind: 'accepted' }) }),
  });
  cleanups.push(() => bench.discard());
  const payer = await chain.newPayer({ usdc: 100n });
  const { id } = await bench.served(await chain.sign(payer, { value: 50n }));
  void bench.settlement.settle(id, { waitMs: 0 });
  const looks = () => bench.rpc.calls.get('eth_getTransactionReceipt') ?? 0;
  await until(() => looks() > 0);
  const [before, startedMs] = [looks(), performance.now()];
  const flood = setInterval(() => bench.settlement.hint(), 1);
  await until(() => performance.now() - startedMs > 2000);
  clearInterval(flood);
  const blocks = (performance.now() - startedMs) / blockTimeMs;
  // Four for the hints, and what the rhythm asks for.
  expect(looks() - before).toBeLessThanOrEqual((blocks + 1) * (4 + 8));
  expect(looks() - before).toBeGreaterThan(2);
});

test('a service with RPC_WS_URL counts what is announced, and leaves no connection behind', async () => {
  const relay = await startTcpRelay(chain.rpcUrl);
  cleanups.push(() => relay.stop());
  const config = readConfig(
    {
      PORT: '0',
      API_PORT: '0',
      OPS_PORT: '0',
      DATA_DIR: temporary(),
      LOG_LEVEL: 'silent',
      SEARCH_CORE_URL: 'http://127.0.0.1:1',
      RPC_URLS: chain.rpcUrl,
      DRAIN_DELAY_MS: '0',
      RPC_WS_URL: `ws://${relay.host}`,
      PAY_TO: chain.payTo,
      RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    },
    [],
  );
  const service = await startService(config, createLog('silent'), (error) => {
    throw error;
  });
  const metrics = async () => (await fetch(`${service.facts.opsUrl}/metrics`)).text();
  try {
    await until(async () => /^search402_rpc_heads_total [1-9]/m.test(await metrics()));
    expect(await metrics()).toMatch(/^search402_rpc_heads_up 1$/m);
    expect(await metrics()).toMatch(/^search402_rpc_heads_lost_total 0$/m);
    expect(relay.open()).toBe(1);
  } finally {
    await service.stop();
  }
  await until(() => relay.open() === 0);
});
