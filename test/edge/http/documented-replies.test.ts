/**
 * Provokes the documented replies that no other test meets: that each is as documented is checked
 * around every test, and a full run fails where one was never seen (test/support/interface-total.ts).
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import type { AccountTables } from '../../../gateway/customers/credits/schema.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import { privateKeyToAccount } from 'viem/accounts';
import { askAsWallet, postPacks, signForPack } from '../../support/packs.js';
import { noteAnswer } from '../../support/interface-watch.js';
import { signStatusProof } from '../../support/payment-proof.js';
import { realClock, realRandom } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { signRefundOfNothing } from '../../support/refunds.js';
import { sendRaw } from '../../support/raw-http.js';
import { startTestService, type TestService } from '../../support/service.js';
import { startTcpRelay } from '../../support/tcp-relay.js';
import { until } from '../../support/until.js';

/** Keys are remembered for a second. */
const REMEMBERED_MS = 1_100;

const KEYED: readonly (readonly [string, RequestInit])[] = [
  ['/account', {}],
  ['/account/usage', {}],
  ['/account/credits', { method: 'POST', body: JSON.stringify({ amountUsd: '5' }) }],
];

const PACK = '/packs/00000000-0000-4000-8000-000000000000';
const NONCE = `0x${'7d'.repeat(32)}` as const;
const PAYMENT = [`/payments/${NONCE}`, `/payments/${NONCE}/reply`] as const;

/** Asks for a payment and for its reply with one proof; the answers' statuses. */
async function askPayment(service: TestService): Promise<number[]> {
  const headers = { 'payment-proof': await signStatusProof(service, NONCE) };
  return Promise.all(PAYMENT.map(async (path) => (await ask(service, path, { headers })).status));
}

/** Asks for a refund of a channel that does not exist; the answer's status. */
async function askRefund(service: TestService, header?: string): Promise<number> {
  const payment = header ?? (await signRefundOfNothing(service));
  const headers = { 'payment-signature': payment };
  return (await ask(service, '/channels', { headers })).status;
}

test('where channels are off, their address is not there', async () => {
  const service = await startTestService();
  try {
    expect((await ask(service, '/channels', { headers: {} })).status).toBe(404);
  } finally {
    await service.stop();
  }
}, 60_000);

/** Asks for packs, and to end one, as the development wallet, and to buy one; the answers' statuses. */
async function askPacks(service: TestService, payment?: string): Promise<number[]> {
  const account = privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
  const listed = await askAsWallet(service, account);
  const ended = await askAsWallet(service, account, { path: PACK, method: 'DELETE' });
  const headers = payment === undefined ? {} : { 'payment-signature': payment };
  const bought = await postPacks(service, headers);
  return [listed, ended, bought].map(({ status }) => status);
}

/**
 * Asks until the address has asked too much. Who says so depends on what it has asked before: the app,
 * or the door in front of it, which nothing watches.
 */
async function expectLimited(
  method: string,
  path: string,
  ask: () => Promise<Response>,
): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 150 }, ask));
  const limited = answers.find(({ status }) => status === 429);
  if (!limited) throw new Error(`${method} ${path} was answered each time`);
  noteAnswer({
    ...{ method, path, status: limited.status },
    headers: Object.fromEntries(limited.headers),
    body: Buffer.from(await limited.arrayBuffer()),
  });
}

/** Asks each of the account's paths once; the answers' statuses. */
function askAll(service: TestService): Promise<number[]> {
  return Promise.all(KEYED.map(async (call) => (await ask(service, ...call)).status));
}

async function ask(service: TestService, path: string, init: RequestInit): Promise<Response> {
  const headers = {
    authorization: `Bearer ${service.dev.apiKey}`,
    'content-type': 'application/json',
  };
  const response = await fetch(service.gatewayUrl + path, { headers, ...init });
  await response.clone().arrayBuffer();
  return response;
}

describe('on a database of its own', () => {
  let service: TestService;
  let store: Store;

  beforeAll(async () => {
    // A rate that a busy machine gets beyond, too.
    const env = { BODY_TIMEOUT_MS: '200', ADDRESS_RATE: '15', CHANNELS: 'on' };
    service = await startTestService({ env });
    store = await openStore(
      { location: join(service.dataDir, 'search402.db'), migrations: MIGRATIONS },
      { clock: realClock, random: realRandom, onFailed: () => undefined },
    );
  });
  afterAll(async () => {
    await store.close();
    await service.stop();
  });

  const alter = (values: { suspended_at?: number | null; rate_per_second?: number | null }) =>
    store.write((tx: Kysely<AccountTables>) => tx.updateTable('accounts').set(values).execute());

  test('a request that is no HTTP is 400 wherever it goes', async () => {
    const own = [
      '/account',
      '/account/usage',
      '/openapi.json',
      '/livez',
      '/readyz',
      '/readyz/payments',
    ];
    const paths = [...own, ...PAYMENT, '/channels'];
    for (const path of paths) {
      const answer = await sendRaw(service.gatewayUrl, `GET ${path} HTTP/1.1\r\nno header\r\n\r\n`);
      noteAnswer(answer);
      expect(answer.status).toBe(400);
    }
    for (const head of ['GET /packs', `DELETE ${PACK}`]) {
      const answer = await sendRaw(service.gatewayUrl, `${head} HTTP/1.1\r\nno header\r\n\r\n`);
      noteAnswer(answer);
      expect(answer.status).toBe(400);
    }
  });

  test('another method is 405', async () => {
    for (const [path, { method }] of KEYED) {
      const other = method === 'POST' ? 'GET' : 'POST';
      expect((await ask(service, path, { method: other })).status).toBe(405);
    }
    for (const path of [...PAYMENT, '/channels']) {
      expect((await ask(service, path, { method: 'POST' })).status).toBe(405);
    }
    expect((await ask(service, '/packs', { method: 'PUT' })).status).toBe(405);
    expect((await ask(service, PACK, {})).status).toBe(405);
  });

  test('a request whose end does not come is 408', async () => {
    const ask = (head: string) => sendRaw(service.gatewayUrl, head);
    const answers = await Promise.all([
      ask('GET /account HTTP/1.1\r\nHost: a\r\n'),
      ask('GET /account/usage HTTP/1.1\r\nHost: a\r\n'),
      ask('GET /packs HTTP/1.1\r\nHost: a\r\n'),
      ask(`DELETE ${PACK} HTTP/1.1\r\nHost: a\r\n`),
      ...[...PAYMENT, '/channels'].map((path) => ask(`GET ${path} HTTP/1.1\r\nHost: a\r\n`)),
      ask(
        'POST /account/credits HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
          `Authorization: Bearer ${service.dev.apiKey}\r\nContent-Length: 9\r\n\r\n{`,
      ),
      ask(
        'POST /packs HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n' +
          'Content-Length: 9\r\n\r\n{',
      ),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 408));
    expect(answers.map(({ headers }) => headers.connection)).toEqual(answers.map(() => 'close'));
    answers.slice(0, 7).forEach(noteAnswer);
  });

  test('a body that cannot be read is 413, 415 or 422', async () => {
    const send = (path: string, body: string, type = 'application/json') =>
      ask(service, path, {
        method: 'POST',
        headers: { authorization: `Bearer ${service.dev.apiKey}`, 'content-type': type },
        body,
      });
    for (const path of ['/account/credits', '/packs']) {
      expect((await send(path, JSON.stringify('a'.repeat(20_000)))).status).toBe(413);
      expect((await send(path, '{}', 'text/plain')).status).toBe(415);
      expect((await send(path, '{')).status).toBe(400);
    }
    expect((await send('/account/credits', '{"amountUsd":"-1"}')).status).toBe(422);
    const unknown = await postPacks(service, {}, { searches: 'many' });
    expect(unknown.status).toBe(422);
  });

  test('a suspended account is 403', async () => {
    await alter({ suspended_at: Date.now() });
    await realClock.sleep(REMEMBERED_MS);
    expect(await askAll(service)).toEqual([403, 403, 403]);
    await alter({ suspended_at: null });
    await realClock.sleep(REMEMBERED_MS);
  });

  test('more than the rate is 429', async () => {
    await alter({ rate_per_second: 1 });
    await realClock.sleep(REMEMBERED_MS);
    for (const call of KEYED) {
      const responses = await Promise.all(Array.from({ length: 8 }, () => ask(service, ...call)));
      expect(responses.map(({ status }) => status)).toContain(429);
    }
    await alter({ rate_per_second: null });
    await realClock.sleep(REMEMBERED_MS);
  });

  test('a bug is 500', async () => {
    const rename = (from: string, to: string) =>
      store.write((tx) =>
        sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(tx),
      );
    await rename('accounts', 'hidden');
    await realClock.sleep(REMEMBERED_MS);
    expect(await askAll(service)).toEqual([500, 500, 500]);
    await rename('hidden', 'accounts');
    await rename('payments', 'hidden');
    expect(await askPayment(service)).toEqual([500, 500]);
    await rename('hidden', 'payments');
    await rename('channels', 'hidden');
    expect(await askRefund(service)).toBe(500);
    await rename('hidden', 'channels');
    const payment = await signForPack(service);
    await rename('packs', 'hidden');
    expect(await askPacks(service, payment)).toEqual([500, 500, 500]);
    await rename('hidden', 'packs');
    // The pack that could not be written down has cost nothing: its payment still buys one.
    expect(await askPacks(service, payment)).toEqual([200, 404, 200]);
  });

  test('more questions about payments than an address may ask are 429', async () => {
    for (const path of [...PAYMENT, '/channels']) {
      await expectLimited('GET', path, () => ask(service, path, {}));
    }
  });

  test('more questions about packs than an address may ask are 429', async () => {
    await expectLimited('GET', '/packs', () => ask(service, '/packs', { headers: {} }));
    await expectLimited('DELETE', PACK, () =>
      ask(service, PACK, { method: 'DELETE', headers: {} }),
    );
    await expectLimited('POST', '/packs', () => postPacks(service));
  });
});

describe('on PostgreSQL', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  test('a database out of reach is 503 for reads and writes, and 200 again afterwards', async () => {
    const { host } = new URL(postgres.url);
    const relay = await startTcpRelay(postgres.url);
    const service = await startTestService({
      env: { DATABASE_URL: postgres.url.replace(host, relay.host), CHANNELS: 'on' },
    });
    try {
      const refund = await signRefundOfNothing(service);
      expect(await askAll(service)).toEqual([200, 200, 402]);
      const payment = await signForPack(service);
      relay.isDown = true;
      await realClock.sleep(REMEMBERED_MS);
      expect(await askAll(service)).toEqual([503, 503, 503]);
      expect(await askPayment(service)).toEqual([503, 503]);
      expect(await askRefund(service, refund)).toBe(503);
      expect((await ask(service, '/readyz', { headers: {} })).status).toBe(503);
      expect(await askPacks(service, payment)).toEqual([503, 503, 503]);
      relay.isDown = false;
      await until(async () => (await ask(service, '/account', {})).status === 200);
    } finally {
      await service.stop();
      await relay.stop();
    }
  });
});
