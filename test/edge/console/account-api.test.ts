import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { TopUpPayment, TopUpPayments } from '../../../gateway/customers/credits/top-up.js';
import { openTopUps } from '../../../gateway/customers/credits/top-up.js';
import { openAccounts } from '../../../gateway/customers/accounts/manage.js';
import { openCredits } from '../../../gateway/customers/credits/credits.js';
import { refuse } from '../../../gateway/ground/domain/refusal.js';
import { unixMillis, usdcUnits } from '../../../gateway/ground/domain/units.js';
import { givenAccount } from '../../support/accounts.js';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { realClock, realRandom } from '../../support/ports.js';
import { madeKey, signedUp, type Tab } from '../../support/tab.js';
import { until } from '../../support/until.js';

/** Payments that settle at once: a header `paid-N` is one payment, however often it comes. */
const settled = new Map<string, string>();
const topUpPayments: TopUpPayments = {
  pay({ payment, requestId }): Promise<TopUpPayment> {
    if (payment === undefined) {
      const refusal = refuse('payment_required', 'Pay.', { reason: 'Payment required' });
      return Promise.resolve({ kind: 'refused', refusal, challengeHeader: 'challenge' });
    }
    if (payment.startsWith('pending')) {
      const refusal = refuse('settlement_pending', 'Wait.', { retryAfterSeconds: 2 });
      return Promise.resolve({ kind: 'refused', refusal });
    }
    const first = settled.get(payment) ?? requestId;
    settled.set(payment, first);
    const transaction = `0x${payment}`;
    return Promise.resolve({
      kind: 'paid',
      requestId: first,
      transaction,
      receiptHeader: 'receipt',
    });
  },
  transactions: () => Promise.resolve(new Map()),
  settled: (ids) => Promise.resolve(ids.filter((id) => later.has(id))),
};
const later = new Set<string>();

let world: ConsoleWorld;
let tab: Tab;
let key: string;

beforeAll(async () => {
  world = await openConsoleWorld({ topUpPayments });
  tab = await signedUp(world, 'ada@example.org');
  ({ key } = await madeKey(tab));
});
afterAll(() => world.close());

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

const call = async (
  path: string,
  {
    by = key,
    body,
    ...init
  }: { by?: string; body?: unknown; payment?: string; method?: string } = {},
): Promise<Reply> => {
  const response = await fetch(`${world.url}${path}`, {
    method: init.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(by && { Authorization: `Bearer ${by}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(init.payment !== undefined && { 'PAYMENT-SIGNATURE': init.payment }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status === 429) {
    // This account may ask 20 times a second, and these tests are faster than that.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return call(path, { by, body, ...init });
  }
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  const json = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, text, json };
};
const search = (query: string) => call('/search', { body: { query } });
const credits = async () => (await call('/account')).json.credits as Record<string, number>;

describe('GET /account', () => {
  test('says plan, rate and credits of the account, and the bounds of the key', async () => {
    const { status, json } = await call('/account');
    expect(status).toBe(200);
    expect(json).toEqual({
      account: {
        id: expect.any(String),
        name: 'ada’s account',
        plan: 'payg',
        ratePerSecond: 20,
      },
      credits: { granted: 1000, available: 1000, held: 0, spent: 0 },
      key: {
        id: expect.any(String),
        name: 'script',
        ratePerSecond: null,
        monthlyBudget: null,
        expiresAt: null,
      },
    });
  });

  test.each(['/account', '/account/usage', '/account/credits'])(
    '%s without a key or with a bad one is a 401 in the closed form',
    async (path) => {
      const body = path.endsWith('credits') ? { amountUsd: '5' } : undefined;
      for (const by of ['', 'nonsense', `${key.slice(0, -1)}!`]) {
        const { status, json } = await call(path, { by, ...(body && { body }) });
        expect(status).toBe(401);
        expect(Object.keys(json).sort()).toEqual([
          'code',
          'detail',
          'requestId',
          'status',
          'title',
        ]);
      }
    },
  );

  test('other methods are a 405 that names the one there is', async () => {
    const { status, headers } = await call('/account', { method: 'DELETE' });
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('GET, HEAD');
  });
});

describe('GET /account/usage', () => {
  test('counts searches by outcome, key, member and hour, refused ones as free', async () => {
    expect((await search('viem')).status).toBe(200);
    expect((await search('viem again')).status).toBe(200);
    expect((await search('broken')).status).toBe(502);
    expect((await call('/search', { body: { prompt: 'x' } })).status).toBe(422);
    const read = async (by: string) => (await call(`/account/usage?by=${by}`)).json.usage;
    const counted = (usage: unknown) => (usage as { searches: number }[])[0]?.searches;
    await until(async () => counted(await read('key')) === 4); // usage is written in batches
    expect(await read('outcome')).toEqual([
      { name: 'ok', searches: 2, refused: 0, credits: 2 },
      expect.objectContaining({ searches: 1, refused: 1, credits: 0 }),
      expect.objectContaining({ searches: 1, refused: 1, credits: 0 }),
    ]);
    const all = { searches: 4, refused: 2, credits: 2 };
    expect(await read('key')).toEqual([{ name: 'script', ...all }]);
    expect(await read('member')).toEqual([{ name: 'ada', ...all }]);
    expect(await read('day')).toEqual([{ name: new Date().toISOString().slice(0, 10), ...all }]);
    expect(await credits()).toMatchObject({ available: 998, held: 0, spent: 2 });
  });

  test('can be downloaded as CSV', async () => {
    const { headers, text } = await call('/account/usage?by=key&format=csv');
    expect(headers.get('content-type')).toContain('text/csv');
    expect(text).toBe('key,searches,refused,credits\r\nscript,4,2,2\r\n');
  });

  test.each(['by=week', 'from=yesterday', 'from=2026-01-02&to=2026-01-01', 'format=xml', 'a=b'])(
    '%s is a 422',
    async (query) => {
      expect((await call(`/account/usage?${query}`)).status).toBe(422);
    },
  );
});

describe('POST /account/credits', () => {
  test('asks for a payment first, then adds what was paid, once', async () => {
    const { available = 0 } = await credits();
    const asked = await call('/account/credits', { body: { amountUsd: '0.05' } });
    expect(asked.status).toBe(402);
    expect(asked.headers.get('payment-required')).toBe('challenge');
    expect((await credits()).available).toBe(available);
    const body = { amountUsd: '0.05' };
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => call('/account/credits', { body, payment: 'paid-1' })),
    );
    for (const reply of replies) {
      expect(reply.status).toBe(200);
      expect(reply.headers.get('payment-response')).toBe('receipt');
      expect(reply.json).toMatchObject({ credits: 1000, transaction: '0xpaid-1' });
    }
    expect((await credits()).available).toBe(available + 1000);
  });

  test('a payment for one account adds nothing to another', async () => {
    const other = await signedUp(world, 'eve@example.org');
    const { key: by } = await madeKey(other);
    const reply = await call('/account/credits', {
      by,
      body: { amountUsd: '0.05' },
      payment: 'paid-1',
    });
    expect(reply.status).toBe(402);
    expect(reply.json.code).toBe('authorization_bound_to_other_request');
    expect((await call('/account', { by })).json.credits).toMatchObject({ granted: 1000 });
  });

  test('a payment that settles after everyone has gone is booked by the recovery, once', async () => {
    const { available = 0 } = await credits();
    const reply = await call('/account/credits', {
      body: { amountUsd: '1' },
      payment: 'pending-1',
    });
    expect(reply.status).toBe(503);
    later.add(reply.json.requestId as string);
    const topUps = openTopUps(world.store, realClock, {
      payments: topUpPayments,
      priceUnits: usdcUnits(50n),
      onBooked: () => Promise.resolve(),
    });
    expect(await topUps.recover()).toBe(1);
    expect(await topUps.recover()).toBe(0);
    expect((await credits()).available).toBe(available + 20_000);
    expect(await openCredits(world.store, realClock, realRandom).reconcile()).toEqual([]);
  });

  test.each([
    [{ amountUsd: 5 }],
    [{ amountUsd: '-5' }],
    [{ amountUsd: '0.001' }],
    [{ amountUsd: '0.010001' }],
    [{ amountUsd: '10001' }],
    [{ amountUsd: '5', tip: '1' }],
    [[]],
  ])('%j is a 422', async (body) => {
    expect((await call('/account/credits', { body })).status).toBe(422);
  });

  test('receipts are listed for Admins', async () => {
    const { text } = await tab.get('/console/billing');
    expect(text).toContain('Top-up in USDC');
    expect(text).toContain('Free credits at sign-up');
  });
});

describe('plans', () => {
  test('an Admin changes the plan, and the next search has the new rate', async () => {
    expect((await search('one')).headers.get('ratelimit-policy')).toBe('"search";q=20;w=1');
    await tab.post('/console/billing/plan', { plan: 'pro' });
    expect((await search('two')).headers.get('ratelimit-policy')).toBe('"search";q=50;w=1');
  });

  test('the Enterprise plan is the operator’s to give', async () => {
    const { status } = await tab.post('/console/billing/plan', { plan: 'enterprise' });
    expect(status).toBe(403);
    expect((await call('/account')).json.account).toMatchObject({ plan: 'pro' });
  });
});

describe('searching on an account', () => {
  const operator = () => openAccounts(world.store, realClock, world.access);

  test('a hundred at once on ten credits are exactly ten 200s and ninety 402s', async () => {
    const account = await givenAccount(world.store, { plan: 'enterprise', credits: 10 });
    await operator().setPlan(account, 'enterprise', { ratePerSecond: 1000 });
    const { key: by } = await world.access.keys.create(account, null, { name: 'busy' });
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => call('/search', { by, body: { query: 'viem' } })),
    );
    const statuses = replies.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 402)).toHaveLength(90);
    const refused = replies.find(({ status }) => status === 402);
    expect(refused?.json.code).toBe('insufficient_credits');
    expect(refused?.json.detail).toContain('POST /account/credits');
    expect(refused?.headers.get('payment-required')).toBeNull();
  });

  test('a search that failed gives its credit back', async () => {
    const account = await givenAccount(world.store, { credits: 1 });
    const { key: by } = await world.access.keys.create(account, null, { name: 'unlucky' });
    expect((await call('/search', { by, body: { query: 'broken' } })).status).toBe(502);
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(200);
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(402);
  });

  test('once an agreed plan has ended, searches are a 403 that says so, until there is another', async () => {
    const account = await givenAccount(world.store, { plan: 'enterprise' });
    const { key: by } = await world.access.keys.create(account, null, { name: 'agreed' });
    const agreed = (endsAt: number) => ({ ratePerSecond: 30, endsAt: unixMillis(endsAt) });
    await operator().setPlan(account, 'enterprise', agreed(Date.now() + 3600_000));
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(200);
    const ended = Date.now() - 1000;
    await operator().setPlan(account, 'enterprise', agreed(ended));
    const refused = await call('/search', { by, body: { query: 'viem' } });
    expect([refused.status, refused.json.code]).toEqual([403, 'plan_restricted']);
    expect(refused.json.detail).toContain(new Date(ended).toISOString().slice(0, 10));
    // What it takes to find out and to go on still works, and nothing was charged.
    const { status, json } = await call('/account', { by });
    expect([status, json.credits]).toMatchObject([200, { spent: 1, held: 0 }]);
    await operator().setPlan(account, 'payg');
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(200);
  });

  test('an Admin changes away from an agreed plan when it has ended, and not before', async () => {
    const own = await signedUp(world, 'grace@example.org');
    const { key: by } = await madeKey(own);
    const { id } = (await call('/account', { by })).json.account as { id: string };
    const later = unixMillis(Date.now() + 3600_000);
    await operator().setPlan(id, 'enterprise', { endsAt: later });
    expect((await own.post('/console/billing/plan', { plan: 'pro' })).status).toBe(403);
    await operator().setPlan(id, 'enterprise', { endsAt: unixMillis(Date.now() - 1) });
    expect((await own.get('/console/billing')).text).toContain('This plan has ended');
    expect((await own.post('/console/billing/plan', { plan: 'pro' })).status).toBe(303);
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(200);
  });

  test('a suspended account is refused with a 403 that says why, everywhere', async () => {
    const account = await givenAccount(world.store);
    const { key: by } = await world.access.keys.create(account, null, { name: 'late' });
    await operator().suspend(account, 'unpaid invoice');
    for (const [path, body] of [
      ['/search', { query: 'viem' }],
      ['/account', undefined],
      ['/account/credits', { amountUsd: '5' }],
    ] as const) {
      const { status, json } = await call(path, { by, ...(body && { body }) });
      expect([status, json.code]).toEqual([403, 'account_suspended']);
      expect(json.detail).toContain('unpaid invoice');
    }
    await operator().resume(account);
    expect((await call('/search', { by, body: { query: 'viem' } })).status).toBe(200);
  });
});

test('a revoked key is refused by the very next request', async () => {
  const { key: doomed, id } = await madeKey(tab, 'doomed');
  expect((await call('/account', { by: doomed })).status).toBe(200);
  await tab.post(`/console/keys/${id}/revoke`);
  expect((await call('/account', { by: doomed })).status).toBe(401);
});
