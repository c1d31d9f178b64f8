import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';
import { readDevFacts } from '../../gateway/dev/facts.js';
import { reachDevChain, type ReachedChain } from '../support/chain.js';
import { startFakeSearchCore, type FakeSearchCore } from '../support/fake-search-core.js';
import { runGateway, running, type RunningGateway } from '../support/gateway-process.js';
import { askAsWallet, challengeOf, postPacks, type BoughtPack } from '../support/packs.js';
import { until } from '../support/until.js';
import { CRASH_POINTS, type Order } from './order.js';

const PRELOAD = new URL('./preload.js', import.meta.url);
const PRICE = 50_000n;

let core: FakeSearchCore;
let gateway: RunningGateway;
let chain: ReachedChain;
const dataDir = mkdtempSync(join(tmpdir(), 'search402-pack-kills-'));

const start = () =>
  running(
    runGateway(
      {
        DATA_DIR: dataDir,
        DEV_BLOCK_TIME_MS: '250',
        SEARCH_CORE_URL: core.url,
        PUBLIC_URL: 'http://localhost:4020',
        LOG_LEVEL: 'warn',
      },
      { preload: PRELOAD },
    ),
  );
const desk = () => ({ gatewayUrl: gateway.url });
/** Hands the gateway an order to die, and waits until it has it. */
async function command(order: Order): Promise<void> {
  const { process: child } = gateway;
  const taken = new Promise((resolve) => child.once('message', resolve));
  child.send(order);
  await taken;
}

beforeAll(async () => {
  core = await startFakeSearchCore();
  gateway = await start();
  const dev = await readDevFacts(join(dataDir, 'dev.json'));
  if (dev?.rpcUrl === undefined) throw new Error('the gateway left no facts of its chain');
  chain = await reachDevChain(dev.rpcUrl);
}, 120_000);
afterAll(async () => {
  gateway.process.kill('SIGTERM');
  await gateway.exited;
  await core.stop();
  rmSync(dataDir, { recursive: true });
});

/** A buyer with money for two packs, and one payment for one. */
async function newBuyer() {
  const { privateKey, address } = await chain.newPayer({ usdc: 2n * PRICE });
  const account = privateKeyToAccount(privateKey);
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(account));
  const challenge = challengeOf(await postPacks(desk()));
  const payload = await client.createPaymentPayload(challenge);
  return { account, address, payment: encodePaymentSignatureHeader(payload) };
}

/** The same payment until its outcome is known: status and bytes. */
async function insist(payment: string): Promise<{ status: number; text: string }> {
  let outcome = { status: 503, text: '' };
  await until(async () => {
    const reply = await postPacks(desk(), { 'payment-signature': payment });
    outcome = { status: reply.status, text: await reply.text() };
    return outcome.status !== 503;
  });
  return outcome;
}

test.each(CRASH_POINTS)(
  'killed %s, a pack is paid once and its payment gets its key',
  async (point) => {
    await command({ point, passing: 1 });
    const { account, address, payment } = await newBuyer();
    const isAnswered = await postPacks(desk(), { 'payment-signature': payment }).then(
      () => true,
      () => false,
    );
    expect(isAnswered).toBe(false);
    await gateway.exited;
    gateway = await start();

    const first = await insist(payment);
    expect([first.status, first.text]).toEqual([200, expect.stringContaining('s402_live_')]);
    expect(await insist(payment)).toEqual(first);
    expect(await chain.transfers(address)).toMatchObject([{ value: PRICE }]);
    const { key, pack } = JSON.parse(first.text) as BoughtPack;
    const listed = await askAsWallet(desk(), account);
    expect(await listed.json()).toMatchObject({
      packs: [{ id: pack.id, searches: 1000, left: 1000 }],
    });
    const search = await fetch(`${gateway.url}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query: 'lighthouse' }),
    });
    expect(search.status).toBe(200);
  },
  120_000,
);

test('killed between settlement and key, the next start opens the pack though nobody comes back', async () => {
  await command({ point: 'after-settle-commit', passing: 1 });
  const { account, payment } = await newBuyer();
  await postPacks(desk(), { 'payment-signature': payment }).catch(() => undefined);
  await gateway.exited;
  gateway = await start();
  const { packs } = (await (await askAsWallet(desk(), account)).json()) as { packs: object[] };
  expect(packs).toMatchObject([{ state: 'live', left: 1000 }]);
}, 120_000);
