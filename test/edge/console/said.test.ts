/** What a page says after an action: once, to whoever did it, without a key in an address. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { madeKey, openTab, signedUp, type Tab } from '../../support/tab.js';

const KEY = /s402_live_[0-9A-Za-z]{33}/;

let world: ConsoleWorld;
let ada: Tab;
beforeAll(async () => {
  world = await openConsoleWorld();
  ada = await signedUp(world, 'ada@example.org');
});
afterAll(() => world.close());

describe('a new key', () => {
  test('is on the page after its creation, and on no page after that', async () => {
    const created = await ada.post('/console/keys', { name: 'nightly' });
    expect([created.status, created.headers.get('location')]).toEqual([303, '/console/keys']);
    expect(created.text).not.toMatch(KEY);
    expect([...created.headers].join()).not.toMatch(KEY);
    expect((await ada.get('/console/keys')).text).toMatch(KEY);
    expect((await ada.get('/console/keys')).text).not.toMatch(KEY);
  });

  test('is shown to nobody else who signs in in the same browser', async () => {
    const eve = await signedUp(world, 'eve@example.org');
    await ada.post('/console/keys', { name: 'nightly' });
    const said = ada.cookies.get('search402_said') ?? '';
    const both = openTab(world, new Map([...eve.cookies, ['search402_said', said]]));
    const { text } = await both.get('/console/keys');
    expect(text).not.toMatch(KEY);
    expect(text).not.toContain('nightly');
    await ada.get('/console/keys');
  });

  test('of a rotation is shown once, too', async () => {
    const { id } = await madeKey(ada, 'turning');
    const { text } = await ada.sent(`/console/keys/${id}/rotate`, { hours: '24' });
    expect(text).toMatch(KEY);
    expect((await ada.get('/console/keys')).text).not.toMatch(KEY);
  });
});

test('a message that was changed on its way is not shown, and breaks nothing', async () => {
  const forged = new Map([...ada.cookies, ['search402_said', 'sealed1.AAAA']]);
  const { status, text } = await openTab(world, forged).get('/console/keys');
  expect(status).toBe(200);
  expect(text).not.toContain('class="toast');
});

test('a page that a browser fetches ahead does not use the message up', async () => {
  await ada.post('/console/keys', { name: 'ahead' });
  const early = openTab(world, new Map(ada.cookies), { 'sec-purpose': 'prefetch' });
  expect((await early.get('/console/keys')).text).not.toMatch(KEY);
  expect((await ada.get('/console/keys')).text).toMatch(KEY);
});

describe('an edited key', () => {
  const accountOf = async (key: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    const reply = await fetch(`${world.url}/account`, { headers });
    return { status: reply.status, ...((await reply.json()) as { key: object }) };
  };

  test('has its new name, budget, rate and expiry with the next request', async () => {
    const { key, id } = await madeKey(ada, 'before');
    const form = { name: 'after', budget: '7', rate: '3', expires: '2031-05-04' };
    const { text } = await ada.sent(`/console/keys/${id}/edit`, form);
    expect(text).toContain('after was changed.');
    expect((await accountOf(key)).key).toMatchObject({
      name: 'after',
      monthlyBudget: 7,
      ratePerSecond: 3,
      expiresAt: '2031-05-05T00:00:00.000Z',
    });
  });

  test('loses a limit that is emptied', async () => {
    const { key, id } = await madeKey(ada, 'bound');
    await ada.post(`/console/keys/${id}/edit`, { name: 'bound', budget: '7', rate: '3' });
    await ada.post(`/console/keys/${id}/edit`, { name: 'free' });
    expect((await accountOf(key)).key).toMatchObject({ monthlyBudget: null, ratePerSecond: null });
  });

  test.each([{ name: '' }, { name: 'x', budget: '-1' }, { name: 'x', rate: '0' }])(
    'with %j is refused in plain words, and what was typed is kept',
    async (form) => {
      const { id } = await madeKey(ada, 'kept');
      const { status, text } = await ada.post(`/console/keys/${id}/edit`, {
        expires: '2031-05-04',
        ...form,
      });
      expect(status).toBe(400);
      expect(text).toContain('role="alert"');
      expect(text).toContain('value="2031-05-04"');
    },
  );

  test('does not come back to life: neither a revoked one, nor one that is being replaced', async () => {
    const [revoked, replaced] = [await madeKey(ada, 'gone'), await madeKey(ada, 'going')];
    await ada.post(`/console/keys/${revoked.id}/revoke`);
    await ada.post(`/console/keys/${replaced.id}/rotate`, { hours: '1' });
    for (const { id } of [revoked, replaced]) {
      const { status } = await ada.post(`/console/keys/${id}/edit`, { name: 'x' });
      expect(status).toBe(404);
    }
    expect((await accountOf(revoked.key)).status).toBe(401);
  });
});

test('a rate-limited search shows its query, and a search without results says so', async () => {
  const { key, id } = await madeKey(ada, 'slow');
  await ada.post(`/console/keys/${id}/edit`, { name: 'slow', rate: '1' });
  const search = (query: string) =>
    fetch(`${world.url}/search`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query }),
    });
  const replies = await Promise.all([search('lighthouse'), search('lighthouse')]);
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 429]);
  const limited = replies.find(({ status }) => status === 429)?.headers.get('x-request-id') ?? '';
  let page = await ada.get(`/console/requests/${limited}`);
  while (page.status === 404) page = await ada.get(`/console/requests/${limited}`);
  expect(page.text).toContain('lighthouse');
  expect(page.text).not.toContain('the body wasn’t a valid search');
  const filtered = await ada.get('/console/requests?outcome=rate_limited');
  expect(filtered.text).toContain(limited);
  expect((await ada.get('/console/requests?outcome=ok')).text).not.toContain(limited);
});

test('the export holds the person and the account, and neither a key nor a hash of one', async () => {
  const { key } = await madeKey(ada, 'exported');
  const { status, text, headers } = await ada.get('/console/profile/export');
  expect(status).toBe(200);
  expect(headers.get('content-disposition')).toContain('attachment');
  expect(JSON.parse(text)).toMatchObject({ person: { email: 'ada@example.org' } });
  expect(text).toContain('exported');
  expect(text).not.toContain(key);
  expect(text).not.toMatch(/hash|token|password/i);
});
