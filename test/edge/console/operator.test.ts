import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openConsoleWorld, type ConsoleWorld } from '../../support/console.js';
import { madeKey, signedUp, type Tab } from '../../support/tab.js';

let world: ConsoleWorld;
let operator: Tab;
let key: string;
let path: string;

beforeAll(async () => {
  world = await openConsoleWorld({
    operatorEmails: ['olga@example.org'],
    searchNodes: [
      { name: 'a:4030', isReady: true, pages: 7, generation: 12, behind: 0 },
      { name: 'b:4030', isReady: false, problem: 'search-core does not answer', behind: 3 },
    ],
    watch: {
      atMs: 0,
      addresses: 12_345,
      indexPages: 11_000,
      looks: 9,
      looksPerSecond: 1.5,
      lastCommitWaitedMs: 2_900,
      sources: [
        {
          name: 'site https://a.example/',
          addresses: 12_345,
          indexed: 11_000,
          neverLookedAt: 3,
          overdue: 2,
          lastLook: 86_400,
        },
      ],
      outcomes: [
        { outcome: 'dropped', reason: 'not_english', count: 8, example: 'https://a.example/<b>' },
      ],
      turnedAway: { path_trap: 4 },
      problems: ['data/sources.json is not JSON'],
    },
  });
  operator = await signedUp(world, 'olga@example.org');
  const ada = await signedUp(world, 'ada@example.org');
  ({ key } = await madeKey(ada));
  path = `/console/operator/accounts/${(await account()).account.id}`;
});
afterAll(() => world.close());

test('the operator sees which search-cores serve, which do not and why, and who is behind', async () => {
  const { text } = await operator.get('/console/operator');
  const rows = [...text.matchAll(/<tr>.*?<\/tr>/gsu)].map(([row]) =>
    row
      .replace(/<[^>]+>/gu, ' ')
      .replace(/\s+/gu, ' ')
      .trim(),
  );
  expect(rows).toContain('a:4030 serving 7 12 no');
  expect(rows).toContain('b:4030 left out: search-core does not answer – – 3');
});

test('the operator sees how fresh the index is, what was left out and why, and what is wrong', async () => {
  expect((await operator.get('/console/operator')).text).toContain('/console/operator/watch');
  const { text } = await operator.get('/console/operator/watch');
  const plain = text.replace(/<[^>]+>/gu, ' ').replace(/\s+/gu, ' ');
  expect(plain).toContain('The watch has said nothing since 1970-01-01 00:00 UTC');
  expect(plain).toContain('data/sources.json is not JSON');
  expect(plain).toContain('site https://a.example/ 12,345 11,000 3 2 1970-01-02 00:00 UTC');
  expect(plain).toContain('not_english 8 https://a.example/&lt;b&gt;');
  expect(plain).toContain('path_trap 4');
  const stranger = await signedUp(world, 'eve@example.org');
  expect((await stranger.get('/console/operator/watch')).status).toBe(403);
});

interface Reply {
  readonly status: number;
  readonly code: string;
  readonly account: { readonly id: string; readonly plan: string; readonly ratePerSecond: number };
  readonly credits: { readonly granted: number };
}

async function account(): Promise<Reply> {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${world.url}/account`, { headers });
  return { ...((await response.json()) as Reply), status: response.status };
}

/** The fields of the page that asks for confirmation. */
const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );

async function changed(kind: string, form: Record<string, string> = {}): Promise<string> {
  const asked = await operator.post(`${path}/${kind}`, form);
  expect(asked.text).toContain('Are you sure?');
  const done = await operator.post(`${path}/${kind}`, fieldsOf(asked.text));
  expect(done.status).toBe(303);
  return asked.text;
}

describe('an account, changed by who runs the service', () => {
  test('nothing is done before it is confirmed', async () => {
    const asked = await operator.post(`${path}/suspend`, { reason: 'unpaid invoice' });
    expect(asked.text).toContain('unpaid invoice');
    expect((await account()).status).toBe(200);
  });

  test('a plan with its own rate and end is there for the next request', async () => {
    await changed('plan', { plan: 'enterprise', rate: '300', days: '30' });
    expect((await account()).account).toMatchObject({ plan: 'enterprise', ratePerSecond: 300 });
    expect((await operator.get(path)).text).toContain('until');
  });

  test('credits are added once, also when the confirmation is sent twice', async () => {
    const before = (await account()).credits.granted;
    const asked = await operator.post(`${path}/credits`, { credits: '500' });
    const form = fieldsOf(asked.text);
    await Promise.all([
      operator.post(`${path}/credits`, form),
      operator.post(`${path}/credits`, form),
    ]);
    expect((await account()).credits.granted).toBe(before + 500);
  });

  test('a suspension refuses its keys with the reason, and ends again', async () => {
    await changed('suspend', { reason: 'unpaid invoice' });
    expect(await account()).toMatchObject({ status: 403, code: 'account_suspended' });
    await changed('resume');
    expect((await account()).status).toBe(200);
  });

  test('every change stands in the record, with who made it', async () => {
    const { text } = await operator.get('/console/operator');
    for (const what of [
      'plan Enterprise, 300 searches a second, until ',
      '500 credits added',
      'suspended: unpaid invoice',
      'resumed',
    ]) {
      expect(text).toContain(what);
    }
    expect(text).toContain('olga@example.org');
  });

  test.each<[string, Record<string, string>]>([
    ['plan', { plan: 'gold' }],
    ['plan', { plan: 'pro', days: '3' }],
    ['plan', { plan: 'pro', rate: '0' }],
    ['credits', {}],
    ['credits', { credits: '-5' }],
    ['credits', { credits: '1.5' }],
    ['suspend', {}],
  ])('%s with %j is refused in plain words', async (kind, form) => {
    const { status, text } = await operator.post(`${path}/${kind}`, form);
    expect(status).toBe(400);
    expect(text).toContain('role="alert"');
  });

  test('an account that there is not is a 404, before and after the question', async () => {
    for (const form of [{ credits: '5' }, { credits: '5', confirmed: 'yes' }]) {
      const { status } = await operator.post('/console/operator/accounts/none/credits', form);
      expect(status).toBe(404);
    }
    expect((await operator.get('/console/operator/accounts/none')).status).toBe(404);
  });
});
