import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import request from 'supertest';
import type { AccountTables } from '../../../gateway/customers/credits/schema.js';
import { createApp } from '../../../gateway/edge/app.js';
import type { Plan } from '../../../gateway/ground/domain/plan.js';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import { StoreUnavailable, type Store } from '../../../gateway/ground/store/store.js';
import { expectRefusal } from '../../support/errors.js';
import { realClock, realRandom, silentLog } from '../../support/ports.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;
let store: Store;
let bearer: { authorization: string };

beforeAll(async () => {
  service = await startTestService();
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
  store = await openStore(
    { location: join(service.dataDir, 'search402.db'), migrations: MIGRATIONS },
    { clock: realClock, random: realRandom, onFailed: () => undefined },
  );
});
afterAll(async () => {
  await store.close();
  await service.stop();
});

test('402 without a quote when the credits are spent, and it says what to do', async () => {
  await withBalance(0, async () => {
    const response = await service.search({ query: 'lamp' }, bearer);
    expect(response.headers.get('payment-required')).toBeNull();
    const { detail } = await expectRefusal(response, 'insufficient_credits');
    expect(detail).toMatch(/credits/i);
  });
});

test('403 for a suspended account', async () => {
  await setSuspended(Date.now());
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // keys are remembered for a second
  await expectRefusal(await service.search({ query: 'lamp' }, bearer), 'account_suspended');
  await setSuspended(null);
});

test('500 for a bug and 503 for a database out of reach, without a word of either', async () => {
  const failures = [new Error('secret of the house'), new StoreUnavailable('failed')];
  const app = createApp({
    homeUrl: 'http://localhost:4020',
    face: 'gateway',
    search: () => Promise.reject(failures.shift() ?? new Error('no more')),
    wire: { challengeHeader: () => '', receiptHeader: () => '' },
    bodyLimits: { bytesMax: 1000, timeoutMs: 1000 },
    isHttps: false,
    trustedProxies: 0,
    health: {
      live: () => undefined,
      ready: () => undefined,
      readyForPayments: () => undefined,
    },
    random: realRandom,
    log: silentLog,
  });
  const bug = await request(app).post('/search').send({ query: 'a' });
  expect(bug.body).toMatchObject({ status: 500, code: 'internal_error', title: 'Internal Error' });
  expect(bug.text).not.toContain('secret');
  const store = await request(app).post('/search').send({ query: 'a' });
  expect(store.body).toMatchObject({ status: 503, code: 'service_unavailable' });
  expect(Number(store.headers['retry-after'])).toBeGreaterThan(0);
});

test('429 says when to come back, and the searches that were admitted say what is left', async () => {
  await setPlan('enterprise', 2);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const responses = await Promise.all(
    Array.from({ length: 40 }, () => service.search({ query: 'lamp' }, bearer)),
  );
  await setPlan('pro', null);
  const limited = responses.filter((response) => response.status === 429);
  expect(limited.length).toBeGreaterThan(0);
  for (const response of responses) {
    expect(response.headers.get('ratelimit-policy')).toBe('"search";q=2;w=1');
    expect(response.headers.get('ratelimit')).toMatch(/^"search";r=\d+;t=\d+$/);
  }
  const [first] = limited;
  expect(Number(first?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  if (first) await expectRefusal(first, 'rate_limited');
});

async function withBalance(available: number, work: () => Promise<void>): Promise<void> {
  const set = (value: bigint) =>
    store.write(async (tx: Kysely<AccountTables>) => {
      const balance = await tx
        .selectFrom('credit_balances')
        .select(['available', 'granted'])
        .executeTakeFirstOrThrow();
      const before = balance.available;
      const granted = balance.granted - before + value;
      await tx.updateTable('credit_balances').set({ available: value, granted }).execute();
      return before;
    });
  const before = await set(BigInt(available));
  await work();
  await set(before);
}

function setSuspended(at: number | null): Promise<unknown> {
  return store.write((tx: Kysely<AccountTables>) =>
    tx.updateTable('accounts').set({ suspended_at: at }).execute(),
  );
}

function setPlan(plan: Plan, rate: number | null): Promise<unknown> {
  return store.write((tx: Kysely<AccountTables>) =>
    tx.updateTable('accounts').set({ plan, rate_per_second: rate }).execute(),
  );
}
