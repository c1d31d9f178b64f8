import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { PASSWORD } from '../../support/people.js';
import { madeKey, openTab, signedUp, type Tab } from '../../support/tab.js';
import { until } from '../../support/until.js';

let world: ConsoleWorld;
let admin: Tab;
let stranger: Tab;

beforeAll(async () => {
  world = await openConsoleWorld({
    topUpPayments: {
      pay: () => Promise.reject(new Error('nobody may get here')),
      settled: () => Promise.resolve([]),
      transactions: () => Promise.resolve(new Map()),
    },
  });
  admin = await signedUp(world, 'ada@example.org');
  stranger = await signedUp(world, 'eve@example.org');
});
afterAll(() => world.close());

describe('from another account', () => {
  test('another account cannot be switched to, whatever the cookie says', async () => {
    const [{ accountId } = { accountId: '' }] = await accountsOf('ada@example.org');
    expect((await stranger.post('/console/switch', { account: accountId })).status).toBe(404);
    const forged = openTab(world, new Map(stranger.cookies).set('search402_account', accountId));
    expect((await forged.get('/console/keys')).text).not.toContain('ada’s account');
  });

  test('a request id of another account is not found', async () => {
    const { key } = await madeKey(admin, 'searcher');
    const response = await fetch(`${world.url}/search`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: 'secret plans' }),
    });
    const id = response.headers.get('x-request-id') ?? '';
    const inspect = () => admin.get(`/console/requests/${id}`);
    await until(async () => (await inspect()).status === 200); // usage is written in batches
    const own = await inspect();
    expect(own.text).toContain('secret plans');
    const foreign = await stranger.get(`/console/requests/${id}`);
    expect(foreign.status).toBe(404);
    expect(foreign.text).not.toContain('secret plans');
  });
});

describe('from another site', () => {
  const others: [string, Record<string, string>][] = [
    ['another origin', { origin: 'https://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
    ['no origin at all', {}],
    ['a cross-site fetch', { 'sec-fetch-site': 'cross-site' }],
    ['another port', { origin: 'http://127.0.0.1:1' }],
  ];

  test.each(others)('a form with %s is a 403 and does nothing', async (_, headers) => {
    const { id, key } = await madeKey(admin, 'guarded');
    const refused = await admin.post(`/console/keys/${id}/revoke`, {}, headers);
    expect(refused.status).toBe(403);
    expect((await world.access.keys.authenticate(`Bearer ${key}`)).kind).toBe('caller');
  });

  test('signing in from another site is refused as well', async () => {
    const tab = openTab(world);
    const form = { email: 'ada@example.org', password: PASSWORD };
    const { status } = await tab.post('/console/sign-in', form, { origin: 'https://evil.example' });
    expect(status).toBe(403);
    expect(tab.cookies.size).toBe(0);
  });

  test('cookies are out of reach for scripts and for other sites', async () => {
    const { headers } = await openTab(world).post('/console/sign-in', {
      email: 'ada@example.org',
      password: PASSWORD,
    });
    const cookies = headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/HttpOnly/i);
      expect(cookie).toMatch(/SameSite=Lax/i);
      expect(cookie).toMatch(/Path=\/console/i);
    }
  });

  test('after signing in, one is led to pages of the console only', async () => {
    for (const to of ['https://evil.example', '//evil.example', '/search', '/consolex', '']) {
      const { headers } = await openTab(world).post('/console/sign-in', {
        email: 'ada@example.org',
        password: PASSWORD,
        to,
      });
      expect(headers.get('location')).toBe('/console');
    }
  });
});

test('every page forbids scripts, styles and frames from elsewhere, and inline ones', async () => {
  for (const page of ['sign-in', 'keys', 'nothing-here']) {
    const { headers, text } = await admin.get(`/console/${page}`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/ style="| on[a-z]+="|<script>|https?:\/\/(?!127\.0\.0\.1)/);
    expect(headers.get('cache-control')).toBe('no-store');
  }
});

test('mail that stays in the database is nobody’s to read but on a development start', async () => {
  const own = await openConsoleWorld({ isOutboxShown: false });
  try {
    const tab = openTab(own);
    const form = { name: 'Ada', email: 'ada@example.org' };
    expect((await tab.post('/console/sign-up', form)).text).not.toContain('outbox');
    expect((await tab.get('/console/outbox')).status).toBe(404);
  } finally {
    await own.close();
  }
});

test('what people type is shown as text and never runs', async () => {
  const name = '"><script>alert(1)</script>';
  const { text } = await admin.sent('/console/keys', { name });
  expect(text).not.toContain('<script>alert');
  expect(text).toContain('&lt;script&gt;alert(1)');
});

test('passwords cannot be guessed at more than ten a minute for one address', async () => {
  const own = await openConsoleWorld();
  try {
    const tab = openTab(own);
    const statuses: number[] = [];
    for (let tries = 0; tries < 12; tries++) {
      const form = { email: 'x@example.org', password: 'a wrong password' };
      statuses.push((await tab.post('/console/sign-in', form)).status);
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  } finally {
    await own.close();
  }
});

test('long and odd forms are refused, not choked on', async () => {
  const big = { name: 'x'.repeat(20_000) };
  expect((await admin.post('/console/keys', big)).status).toBe(413);
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, '1']));
  expect((await admin.post('/console/keys', many)).status).toBe(413);
  expect((await admin.post('/console/keys', { name: '' })).status).toBe(400);
  expect((await admin.post('/console/keys', { name: 'a', expires: '2001-01-01' })).status).toBe(
    400,
  );
  expect((await admin.post('/console/keys', { name: 'a', budget: '-1' })).status).toBe(400);
  expect((await admin.get('/console/requests/%00')).status).toBe(404);
  expect((await admin.get('/console/requests/%E0%A4%A')).status).toBe(400);
  expect((await admin.post('/console/keys', { name: 'nul \0 byte' })).status).toBe(303);
});

async function accountsOf(email: string) {
  const { openTeam } = await import('../../../gateway/customers/people/team.js');
  const { realClock, realRandom } = await import('../../support/ports.js');
  const team = openTeam(world.store, realClock, realRandom);
  return team.memberships(await world.personId(email));
}
