import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { startTestChain, type TestChain } from '../support/chain.js';
import { channelOf, idOf, signVoucher } from '../support/channels.js';
import { startFakeSearchCore, type FakeSearchCore } from '../support/fake-search-core.js';
import { startGateway, type RunningGateway } from '../support/gateway-process.js';
import { receiptOf } from '../support/pay.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

removeTemporaries();
let chain: TestChain;
let server: TestPostgres;
let core: FakeSearchCore;
beforeAll(async () => {
  [chain, server, core] = await Promise.all([
    startTestChain({ blockTimeSeconds: 1 }),
    startPostgres(),
    startFakeSearchCore(),
  ]);
});
afterAll(async () => {
  await core.stop();
  await chain.stop();
  await server.stop();
});
const gateways: RunningGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) {
    gateway.process.kill('SIGKILL');
    await gateway.exited;
  }
});

const sealingKey = randomBytes(32).toString('hex');

/** A gateway as a process of its own; both have one database and one relayer key. */
async function start(): Promise<RunningGateway> {
  const folder = temporary();
  const sealingKeyFile = join(folder, 'shared.key');
  writeFileSync(sealingKeyFile, sealingKey, { mode: 0o600 });
  const gateway = await startGateway({
    ...{ DATA_DIR: folder, DATABASE_URL: server.url, SEALING_KEY_FILE: sealingKeyFile },
    ...{ SEARCH_CORE_URL: core.url, RPC_URLS: chain.rpcUrl, PAY_TO: chain.payTo },
    RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    // Gas costs next to nothing, so the least deposit is the operator's own.
    ...{ CHANNELS: 'on', ETH_USD: '0.0001' },
  });
  gateways.push(gateway);
  return gateway;
}

const searchAt = (gateway: RunningGateway, fetching: typeof fetch, headers = {}) =>
  fetching(`${gateway.url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: 'bread' }),
  });

test('two gateways on one PostgreSQL serve one channel, in turn and at once, each voucher once', async () => {
  const [one, two] = [await start(), await start()] as const;
  const payer = await chain.newPayer({ usdc: 1_000_000n });
  const scheme = new BatchSettlementEvmScheme(payer.account);
  const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:8453', scheme));
  for (let charged = 50; charged <= 300; charged += 50) {
    const reply = await searchAt(charged % 100 === 0 ? one : two, pay);
    expect(reply.status).toBe(200);
    expect(receiptOf(reply).extra).toMatchObject({
      channelState: { chargedCumulativeAmount: String(charged) },
    });
  }

  const unpaid = await searchAt(one, fetch);
  const { accepts } = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '');
  const [accepted] = accepts;
  const config = channelOf(payer, {
    receiver: chain.payTo,
    receiverAuthorizer: chain.relayerAddress,
    salt: `0x${'0'.repeat(64)}`,
  });
  const headerOf = async (cumulative: bigint) => {
    const signature = await signVoucher(payer.account, config, cumulative);
    const voucher = { channelId: idOf(config), maxClaimableAmount: String(cumulative), signature };
    const payload = { type: 'voucher', channelConfig: config, voucher };
    const payment = { x402Version: 2, accepted, payload };
    return Buffer.from(JSON.stringify(payment)).toString('base64');
  };
  const headers = await Promise.all(
    [8n, 3n, 1n, 6n, 2n, 7n, 5n, 4n].map((n) => headerOf(300n + 50n * n)),
  );
  const send = (at: RunningGateway, header: string) =>
    searchAt(at, fetch, { 'payment-signature': header });
  const replies = await Promise.all(
    headers.map((header, index) => send(index % 2 === 0 ? one : two, header)),
  );
  expect(replies.map(({ status }) => status)).toEqual(headers.map(() => 200));

  const again = await Promise.all(
    headers.map((header, index) => send(index % 2 === 0 ? two : one, header)),
  );
  const texts = (all: readonly Response[]) => Promise.all(all.map((reply) => reply.text()));
  expect(await texts(again)).toEqual(await texts(replies));
  expect(again.map((reply) => reply.headers.get('payment-response'))).toEqual(
    replies.map((reply) => reply.headers.get('payment-response')),
  );
  const last = await send(two, await headerOf(750n));
  expect(receiptOf(last).extra).toMatchObject({
    channelState: { chargedCumulativeAmount: '750' },
  });
});
