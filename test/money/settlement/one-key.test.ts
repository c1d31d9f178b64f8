import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { type ReachedChain, startTestChain, type TestChain } from '../../support/chain.js';
import { type FakeSearchCore, startFakeSearchCore } from '../../support/fake-search-core.js';
import { type RunningGateway, startGateway } from '../../support/gateway-process.js';
import { type Attempt, insist, newAttempt, PAYERS_PUBLIC_URL } from '../../support/payer-client.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { delay, startRpcProxy } from '../../support/rpc-proxy.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';

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
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) {
    gateway.process.kill('SIGKILL');
    await gateway.exited;
  }
  for (const stop of stops.splice(0)) await stop();
});

/** What all of them open the secrets in the database with. */
const sealingKey = randomBytes(32).toString('hex');

/** A gateway as a process of its own; all of a test have one database and one relayer key. */
async function start(rpcUrl = chain.rpcUrl): Promise<RunningGateway> {
  const folder = temporary();
  const sealingKeyFile = join(folder, 'shared.key');
  writeFileSync(sealingKeyFile, sealingKey, { mode: 0o600 });
  const gateway = await startGateway({
    DATA_DIR: folder,
    DATABASE_URL: server.url,
    SEARCH_CORE_URL: core.url,
    RPC_URLS: rpcUrl,
    PAY_TO: chain.payTo,
    RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    PUBLIC_URL: PAYERS_PUBLIC_URL,
    SEALING_KEY_FILE: sealingKeyFile,
    LOG_LEVEL: 'info',
  });
  gateways.push(gateway);
  return gateway;
}

async function attempts(count: number): Promise<Attempt[]> {
  const payers = await chain.newPayers(count, { usdc: 50n });
  return Promise.all(payers.map((payer) => newAttempt(payer, chain.payTo)));
}

const transfersOf = ({ payer }: Attempt) => (chain as ReachedChain).transfers(payer);

describe('two gateways with one relayer key on one PostgreSQL', () => {
  test('a charged payment is never refused by the one whose chain answers later', async () => {
    const proxy = await startRpcProxy(chain.rpcUrl, { seed: 1 });
    stops.push(() => proxy.stop());
    const quick = await start();
    const slow = await start(proxy.url);
    proxy.rules([{ method: 'eth_call', fault: delay(2500) }]);
    const searches = core.seen.length;
    // The balance is spent and the nonce used by the time the slow one hears of them.
    for (const attempt of await attempts(4)) {
      const copy = { ...attempt };
      await Promise.all([insist(quick.url, attempt), insist(slow.url, copy)]);
      expect(attempt).toMatchObject({ delivered: { transaction: expect.any(String) } });
      expect(copy).toEqual(attempt);
      expect(await transfersOf(attempt)).toHaveLength(1);
    }
    expect(core.seen.length - searches).toBe(4);
  });

  test('what the one without the key serves is settled by the one that holds it', async () => {
    await start();
    const second = await start();
    expect((await fetch(`${second.opsUrl}/readyz`)).status).toBe(200);
    const paid = await attempts(5);
    await Promise.all(paid.map((attempt) => insist(second.url, attempt)));
    for (const attempt of paid) {
      expect(attempt.refused).toBeUndefined();
      expect(await transfersOf(attempt)).toMatchObject([
        { transaction: attempt.delivered?.transaction },
      ]);
    }
  });

  test('kill -9 of the holder: the other one takes the key over and settles what is open', async () => {
    const holder = await start();
    const heir = await start();
    const before = await attempts(6);
    const answers = before.map((attempt, at) => {
      const gateway = at % 2 === 0 ? holder : heir;
      // Whose connection breaks sends the same payment to the one that is left.
      return insist(gateway.url, attempt).catch(() => insist(heir.url, attempt));
    });
    holder.process.kill('SIGKILL');
    await holder.exited;
    const [after] = await attempts(1);
    if (!after) throw new Error('no payer');
    await Promise.all([...answers, insist(heir.url, after)]);
    for (const attempt of [...before, after]) {
      expect(attempt.refused).toBeUndefined();
      expect(await transfersOf(attempt)).toMatchObject([
        { transaction: attempt.delivered?.transaction },
      ]);
    }
    expect((await fetch(`${heir.opsUrl}/readyz`)).status).toBe(200);
    expect(heir.output()).not.toContain('"level":50');
  });
});
