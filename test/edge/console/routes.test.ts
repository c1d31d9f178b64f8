import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { PASSWORD } from '../../support/people.js';
import { routesOf } from '../../support/routes.js';
import { joined, madeKey, openTab, signedUp, type Tab } from '../../support/tab.js';
import { addWallet, someWallet } from '../../support/wallets.js';

/** Who reaches a route: whoever, with a session, as an Admin, as who runs the service, with a key. */
type Access = 'anyone' | 'session' | 'admin' | 'operator' | 'key';

/** Every route there is. One that is missing here, or here too many, fails the first test. */
const ROUTES: Readonly<Record<string, Access>> = {
  'GET /account': 'key',
  'GET /account/usage': 'key',
  'POST /account/credits': 'key',

  'GET /console/sign-up': 'anyone',
  'POST /console/sign-up': 'anyone',
  'GET /console/verify': 'anyone',
  'POST /console/verify': 'anyone',
  'GET /console/sign-in': 'anyone',
  'POST /console/sign-in': 'anyone',
  'POST /console/sign-out': 'anyone',
  'GET /console/forgot': 'anyone',
  'POST /console/forgot': 'anyone',
  'GET /console/reset': 'anyone',
  'POST /console/reset': 'anyone',
  'GET /console/outbox': 'anyone',
  'GET /console/mail-sent': 'anyone',
  'POST /console/wallet/challenge': 'anyone',
  'POST /console/wallet/sign-in': 'anyone',
  // Shows what to do without a session; accepting leads to the sign-in page then.
  'GET /console/invitation': 'anyone',
  'POST /console/invitation': 'anyone',

  'GET /console/': 'session',
  'GET /console/parts': 'session',
  'GET /console/parts/dialog': 'session',

  'GET /console/keys': 'session',
  'GET /console/keys/new': 'session',
  'GET /console/keys/:id/edit': 'session',
  'POST /console/keys/:id/edit': 'session',
  'GET /console/keys/:id/revoke': 'session',
  'GET /console/keys/:id/rotate': 'session',
  'POST /console/keys': 'session',
  'POST /console/keys/revoke-former': 'session',
  'POST /console/keys/:id/revoke': 'session',
  'POST /console/keys/:id/rotate': 'session',
  'GET /console/usage': 'session',
  'GET /console/usage.csv': 'session',
  'GET /console/requests': 'session',
  'GET /console/requests/:id': 'session',
  'GET /console/playground': 'session',
  'POST /console/playground': 'session',
  'GET /console/connect': 'session',
  'GET /console/applications': 'session',
  'POST /console/applications/:id/end': 'session',
  'GET /console/profile': 'session',
  'GET /console/profile/export': 'session',
  'POST /console/profile/sessions/:id/end': 'session',
  'POST /console/profile/wallets': 'session',
  'POST /console/profile/wallets/challenge': 'session',
  'POST /console/profile/wallets/:id/remove': 'session',
  'POST /console/leave': 'session',
  'GET /console/start': 'session',
  'POST /console/start': 'session',
  'POST /console/switch': 'session',

  'GET /console/billing': 'admin',
  'GET /console/billing/receipts.csv': 'admin',
  'GET /console/billing/receipts/:id': 'admin',
  'POST /console/billing/plan': 'admin',
  'POST /console/billing/top-up': 'admin',
  'GET /console/team': 'admin',
  'GET /console/team/invite': 'admin',
  'POST /console/team/invite': 'admin',
  'POST /console/team/invitations/:id/cancel': 'admin',
  'POST /console/team/members/:id/role': 'admin',
  'POST /console/team/members/:id/remove': 'admin',
  'POST /console/profile/account': 'admin',

  'GET /console/operator': 'operator',
  'GET /console/operator/watch': 'operator',
  'GET /console/operator/accounts/:id': 'operator',
  'POST /console/operator/accounts/:id/plan': 'operator',
  'POST /console/operator/accounts/:id/credits': 'operator',
  'POST /console/operator/accounts/:id/suspend': 'operator',
  'POST /console/operator/accounts/:id/resume': 'operator',
};

const only = (...kinds: readonly Access[]) =>
  Object.entries(ROUTES)
    .filter(([, access]) => kinds.includes(access))
    .map(([route]) => route);
const all = Object.keys(ROUTES);
const inConsole = all.filter((route) => route.includes('/console'));

let world: ConsoleWorld;
let admin: Tab;
let member: Tab;
let stranger: Tab;
let operator: Tab;

beforeAll(async () => {
  world = await openConsoleWorld({
    operatorEmails: ['olga@example.org'],
    topUpPayments: {
      pay: () => Promise.reject(new Error('nobody may get here')),
      settled: () => Promise.resolve([]),
      transactions: () => Promise.resolve(new Map()),
    },
  });
  admin = await signedUp(world, 'ada@example.org');
  member = await joined(world, admin, 'bob@example.org', 'member');
  stranger = await signedUp(world, 'eve@example.org');
  operator = await joined(world, admin, 'olga@example.org', 'member');
});
afterAll(() => world.close());

const call = (tab: Tab, route: string, id = 'x', headers?: Record<string, string>) => {
  const [method, pattern = ''] = route.split(' ');
  const path = pattern.replace(':id', id);
  return method === 'GET' ? tab.get(path) : tab.post(path, {}, headers);
};

test('every route of /account and /console is in the table above, and no other is', () => {
  expect([...routesOf(world.router, '/console')].sort()).toEqual([...all].sort());
});

describe('without a session', () => {
  test.each(only('session', 'admin', 'operator'))(
    '%s leads to the sign-in or is a 401',
    async (route) => {
      const { status, headers } = await call(openTab(world), route);
      if (route.startsWith('GET')) {
        expect([status, headers.get('location')]).toEqual([
          303,
          expect.stringContaining('/console/sign-in?to='),
        ]);
      } else expect(status).toBe(401);
    },
  );

  test.each(only('key'))('%s is a 401 without a key, also for a signed-in Admin', async (route) => {
    expect((await call(openTab(world), route)).status).toBe(401);
    expect((await call(admin, route)).status).toBe(401);
  });
});

describe('in the wrong role', () => {
  test.each(only('admin'))(
    '%s is a 403 for a Member, who operates the service or not',
    async (route) => {
      expect((await call(member, route)).status).toBe(403);
      expect((await call(operator, route)).status).toBe(403);
    },
  );

  test.each(only('operator'))('%s is a 403 for Admins and Members of accounts', async (route) => {
    expect((await call(admin, route)).status).toBe(403);
    expect((await call(member, route)).status).toBe(403);
    expect((await call(operator, route)).status).not.toBe(403);
  });

  test('what one may not see is not in the menu', async () => {
    const menuOf = async (tab: Tab) =>
      [...(await tab.get('/console/keys')).text.matchAll(/<li>\s*<a href="([^"]+)"/g)].map(
        ([, path]) => path,
      );
    const hidden = ['/console/billing', '/console/team', '/console/operator'];
    expect(await menuOf(admin)).toEqual(expect.arrayContaining(hidden.slice(0, 2)));
    expect(await menuOf(admin)).not.toContain('/console/operator');
    expect((await menuOf(member)).filter((path) => hidden.includes(path ?? ''))).toEqual([]);
  });
});

describe('from another account', () => {
  /** Something of ada's for every route that names something by its id. */
  const ids: Readonly<Record<string, () => Promise<string>>> = {
    'GET /console/keys/:id/edit': async () => (await madeKey(admin)).id,
    'GET /console/keys/:id/rotate': async () => (await madeKey(admin)).id,
    'GET /console/keys/:id/revoke': async () => (await madeKey(admin)).id,
    // No payment was made in this world: that a receipt of another account is none is seen elsewhere.
    'GET /console/billing/receipts/:id': () => world.personId('ada@example.org'),
    'POST /console/keys/:id/edit': async () => (await madeKey(admin)).id,
    'POST /console/keys/:id/revoke': async () => (await madeKey(admin)).id,
    'POST /console/keys/:id/rotate': async () => (await madeKey(admin)).id,
    'GET /console/requests/:id': async () => {
      const { key } = await madeKey(admin, 'searcher');
      const { headers } = await fetch(`${world.url}/search`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: 'secret plans' }),
      });
      return headers.get('x-request-id') ?? '';
    },
    'POST /console/applications/:id/end': async () => {
      const personId = await world.personId('ada@example.org');
      const { key } = await madeKey(admin, 'asker');
      const reply = await fetch(`${world.url}/account`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      const { account } = (await reply.json()) as { account: { id: string } };
      await world.connections.add({
        grantId: 'grant-of-ada',
        subject: { personId, accountId: account.id },
        clientId: 'client',
        clientName: 'An application',
        scope: 'search',
        resources: ['http://127.0.0.1/mcp'],
      });
      return 'grant-of-ada';
    },
    'POST /console/profile/sessions/:id/end': async () => {
      const other = openTab(world);
      await other.post('/console/sign-in', { email: 'ada@example.org', password: PASSWORD });
      const { text } = await admin.get('/console/profile');
      return /profile\/sessions\/([^/]+)\/end/.exec(text)?.[1] ?? '';
    },
    'POST /console/profile/wallets/:id/remove': async () => {
      const wallet = someWallet();
      await addWallet(admin, wallet);
      return wallet.address;
    },
    'POST /console/team/invitations/:id/cancel': async () => {
      await admin.post('/console/team/invite', { email: 'cy@example.org', role: 'member' });
      const { text } = await admin.get('/console/team');
      return /invitations\/([^/]+)\/cancel/.exec(text)?.[1] ?? '';
    },
    'POST /console/team/members/:id/role': () => world.personId('bob@example.org'),
    'POST /console/team/members/:id/remove': () => world.personId('bob@example.org'),
  };

  test.each(only('session', 'admin').filter((route) => route.includes(':id')))(
    '%s is a 404',
    async (route) => {
      const id = await ids[route]?.();
      expect(id).toMatch(/./);
      const path = route.replace(/^\S+ /, '').replace(':id', id ?? '');
      const isGet = route.startsWith('GET');
      const foreign = await (isGet ? stranger.get(path) : stranger.post(path, { role: 'member' }));
      expect(foreign.status).toBe(404);
      expect(foreign.text).not.toContain('secret plans');
    },
  );

  test('and nothing of it was changed', async () => {
    const team = (await admin.get('/console/team')).text;
    expect(team).toContain('bob@example.org');
    expect(team).toContain('cy@example.org');
    const ada = await world.personId('ada@example.org');
    expect(await world.connections.revoke(ada, 'grant-of-ada')).toBe('revoked');
    const profile = (await admin.get('/console/profile')).text;
    expect(profile).toMatch(/profile\/sessions\/[^/]+\/end/);
    expect(profile).toMatch(/profile\/wallets\/[^/]+\/remove/);
    expect((await admin.get('/console/keys')).text).not.toContain('that ended');
  });
});

describe('from a page of another site', () => {
  const posts = inConsole.filter((route) => route.startsWith('POST'));

  test.each(posts)('%s is refused before anything is looked at', async (route) => {
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, {}]) {
      const { status, text } = await call(admin, route, 'x', headers);
      expect(status).toBe(403);
      expect(text).toContain('didn’t come from the console, so nothing was changed');
    }
  });
});

describe('a planted session', () => {
  test('is not taken over by signing in, and is worth nothing after', async () => {
    const planted = 'planted.c2lnbmF0dXJl';
    const victim = openTab(world, new Map([['search402.session_token', planted]]));
    expect((await victim.get('/console/keys')).status).toBe(303);
    await victim.post('/console/sign-in', { email: 'ada@example.org', password: PASSWORD });
    expect((await victim.get('/console/keys')).status).toBe(200);
    expect(victim.cookies.get('search402.session_token')).not.toBe(planted);
    const thief = openTab(world, new Map([['search402.session_token', planted]]));
    expect((await thief.get('/console/keys')).status).toBe(303);
  });

  test('of somebody else does not become the victim’s: each sign-in has a session of its own', async () => {
    const thief = await signedUp(world, 'mallory@example.org');
    const victim = openTab(world, new Map(thief.cookies));
    await victim.post('/console/sign-in', { email: 'ada@example.org', password: PASSWORD });
    expect((await victim.get('/console/profile')).text).toContain('ada@example.org');
    expect((await thief.get('/console/profile')).text).toContain('mallory@example.org');
  });
});
