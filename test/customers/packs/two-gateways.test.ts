import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { startFakeSearchCore, type FakeSearchCore } from '../../support/fake-search-core.js';
import { startGateway, type RunningGateway } from '../../support/gateway-process.js';
import { askAsWallet, challengeOf, postPacks, type BoughtPack } from '../../support/packs.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { until } from '../../support/until.js';

const PUBLIC_URL = 'http://localhost:4020';
/** A search costs as much as the smallest pack, so that only the binding tells them apart. */
const PRICE = 50_000n;

let chain: TestChain;
let server: TestPostgres;
let core: FakeSearchCore;
let gateways: readonly RunningGateway[];
const folder = mkdtempSync(join(tmpdir(), 'search402-pack-gateways-'));

beforeAll(async () => {
  [chain, server, core] = await Promise.all([
    startTestChain(),
    startPostgres(),
    startFakeSearchCore(),
  ]);
  const sealingKeyFile = join(folder, 'shared.key');
  writeFileSync(sealingKeyFile, randomBytes(32).toString('hex'), { mode: 0o600 });
  const start = (name: string) =>
    startGateway({
      DATA_DIR: join(folder, name),
      DATABASE_URL: server.url,
      SEARCH_CORE_URL: core.url,
      RPC_URLS: chain.rpcUrl,
      PAY_TO: chain.payTo,
      RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
      PUBLIC_URL,
      SEALING_KEY_FILE: sealingKeyFile,
      PRICE_USD: '0.05',
      PACKS: '1',
      LOG_LEVEL: 'warn',
    });
  gateways = [await start('one'), await start('two')];
}, 120_000);
afterAll(async () => {
  for (const gateway of gateways) gateway.process.kill('SIGTERM');
  await Promise.all(gateways.map((gateway) => gateway.exited));
  await core.stop();
  await chain.stop();
  await server.stop();
  rmSync(folder, { recursive: true });
}, 60_000);

const at = (index: number) => ({ gatewayUrl: gateways[index % 2]?.url ?? '' });

async function newBuyer() {
  const { privateKey, address } = await chain.newPayer({ usdc: 2n * PRICE });
  const account = privateKeyToAccount(privateKey);
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(account));
  const payload = await client.createPaymentPayload(challengeOf(await postPacks(at(0))));
  return { account, address, payload, payment: encodePaymentSignatureHeader(payload) };
}

const searchAt = (index: number, headers: Record<string, string>) =>
  fetch(`${at(index).gatewayUrl}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: 'lighthouse' }),
  });

/** Asked again while the outcome is not known, as a client does. */
async function known(ask: () => Promise<Response>): Promise<{ status: number; text: string }> {
  let outcome = { status: 503, text: '' };
  await until(async () => {
    const reply = await ask();
    outcome = { status: reply.status, text: await reply.text() };
    return outcome.status !== 503;
  });
  return outcome;
}

test('one payment at two gateways at once is one transfer, one key and one reply', async () => {
  const { account, address, payment } = await newBuyer();
  const replies = await Promise.all(
    Array.from({ length: 16 }, (_, index) =>
      known(() => postPacks(at(index), { 'payment-signature': payment })),
    ),
  );
  expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
  expect(replies[0]?.status).toBe(200);
  expect(await chain.transfers(address)).toMatchObject([{ value: PRICE }]);
  const { key, pack } = JSON.parse(replies[0]?.text ?? '') as BoughtPack;

  // One search was bought: of those who ask for it at both, one gets it.
  const bearer = { authorization: `Bearer ${key}` };
  const searches = await Promise.all([0, 1, 0, 1].map((index) => searchAt(index, bearer)));
  expect(searches.map(({ status }) => status).sort()).toEqual([200, 402, 402, 402]);

  // Revoked at one, it is refused by the other, and the payment brings it back at neither.
  const path = `/packs/${pack.id}`;
  expect((await askAsWallet(at(0), account, { path, method: 'DELETE' })).status).toBe(200);
  await until(async () => (await searchAt(1, bearer)).status === 401);
  for (const index of [0, 1]) {
    const again = await postPacks(at(index), { 'payment-signature': payment });
    expect([again.status, await again.text()]).toEqual([401, expect.not.stringContaining(key)]);
  }
}, 60_000);

test('one payment for a search at one gateway and a pack at the other buys one of them', async () => {
  const { address, payload } = await newBuyer();
  const { resource: _named, ...unnamed } = payload;
  const header = { 'payment-signature': encodePaymentSignatureHeader(unnamed) };
  const outcomes = await Promise.all([
    known(() => searchAt(0, header)),
    known(() => postPacks(at(1), header)),
    known(() => searchAt(1, header)),
    known(() => postPacks(at(0), header)),
  ]);
  const statuses = outcomes.map(({ status }) => status);
  expect([
    [200, 402, 200, 402],
    [402, 200, 402, 200],
  ]).toContainEqual(statuses);
  expect(await chain.transfers(address)).toMatchObject([{ value: PRICE }]);
}, 60_000);
