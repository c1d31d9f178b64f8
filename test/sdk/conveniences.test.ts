// What people expect of a client that they know from others.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import * as sdk from '../../sdk/typescript/src/index.js';
import { userAgent } from '../../sdk/typescript/src/user-agent.js';
import { GOOD_KEY } from '../support/sdk-gateway.js';
import { clientWith, startSdkWorld, type SdkWorld } from '../support/sdk.js';

let world: SdkWorld;
beforeEach(async () => {
  world = await startSdkWorld();
});
afterEach(() => world.close());

const failure = async (work: PromiseLike<unknown>): Promise<Error> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error('expected a failure');
};

describe('the client names itself', () => {
  test('with its version and its runtime, unless the caller gives another name', async () => {
    await world.client({ apiKey: GOOD_KEY }).search({ query: 'kestrel' });
    const own = `search402-js/${sdk.VERSION} (Node.js/${process.versions.node})`;
    expect(world.proxy.seen[0]?.headers['user-agent']).toBe(own);
    const named = world.client({ apiKey: GOOD_KEY, headers: { 'User-Agent': 'mine/1' } });
    await named.search({ query: 'kestrel' });
    expect(world.proxy.seen[1]?.headers['user-agent']).toBe('mine/1');
  });

  test('with the version of the package', () => {
    const manifest = readFileSync('sdk/typescript/package.json', 'utf8');
    expect(sdk.VERSION).toBe((JSON.parse(manifest) as { version: string }).version);
  });

  test.each([
    [{ navigator: { userAgent: 'Mozilla/5.0 (X11)' } }, undefined],
    [{ navigator: { userAgent: 'Cloudflare-Workers' } }, '(Cloudflare-Workers)'],
    [
      { navigator: { userAgent: 'Bun/1.3.0' }, process: { versions: { node: '24.0.0' } } },
      '(Bun/1.3.0)',
    ],
    [
      { navigator: { userAgent: 'Node.js/22' }, process: { versions: { node: '22.1.0' } } },
      '(Node.js/22.1.0)',
    ],
    [{}, ''],
  ])('on %j as %p', (host, runtime) => {
    const expected = `search402-js/${sdk.VERSION} ${runtime ?? ''}`.trim();
    expect(userAgent(host)).toBe(runtime === undefined ? undefined : expected);
  });
});

describe('withOptions', () => {
  test('changes what is given and shares everything else', async () => {
    const client = world.client({ headers: { 'X-One': '1' } });
    const other = client.withOptions({ maxRetries: 0, headers: { 'X-Two': '2' } });
    world.proxy.faults.push({ kind: 'pass' }, { kind: 'drop-after' });
    await failure(other.search({ query: 'kestrel' }));
    expect(world.proxy.seen).toHaveLength(2);
    expect(world.proxy.seen[0]?.headers).toMatchObject({ 'x-one': '1', 'x-two': '2' });

    // The payment of the other one is open: this one sends it again.
    await client.search({ query: 'kestrel' });
    expect(world.gateway.transfers).toHaveLength(1);
    expect(world.proxy.seen.at(-1)?.headers).not.toHaveProperty('x-two');
    expect(await other.payments.list()).toHaveLength(1);
  });

  test('takes another address and another key, and refuses what cannot be right', async () => {
    const client = new sdk.Search402({ apiKey: 'wrong', baseUrl: 'http://127.0.0.1:9' });
    const other = client.withOptions({ apiKey: GOOD_KEY, baseURL: world.proxy.url });
    expect(await other.search({ query: 'kestrel' })).toHaveProperty('result');
    expect(() => client.withOptions({ maxRetries: 99 })).toThrow(sdk.ConfigurationError);
    const paying = world.client();
    expect(() => paying.withOptions({ apiKey: GOOD_KEY })).toThrow(/a client with a wallet/);
  });
});

describe('a search', () => {
  test('gives its HTTP response on request', async () => {
    const client = world.client({ apiKey: GOOD_KEY });
    const search = client.search({ query: 'kestrel' });
    const { data, response, status, tries } = await search.withResponse();
    expect(await search).toBe(data);
    expect([status, tries, response.status]).toEqual([200, 1, 200]);
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toEqual(data);
    expect(await (await search.asResponse()).json()).toEqual(data);
    expect(world.proxy.seen).toHaveLength(1);
  });

  test('whose response alone is awaited fails once, and is caught once', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const search = world.client({ apiKey: 'wrong' }).search({ query: 'kestrel' });
      expect(await failure(search.withResponse())).toBeInstanceOf(sdk.AuthenticationError);
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  test('is a promise like any other', async () => {
    const client = world.client({ apiKey: GOOD_KEY });
    const both = await Promise.all([client.search({ query: 'a' }), client.search({ query: 'b' })]);
    expect(both).toHaveLength(2);
    const search = client.search({ query: 'c' });
    expect(search).toBeInstanceOf(Promise);
    let hasEnded = false;
    const title = await search
      .finally(() => (hasEnded = true))
      .then(({ result }) => result.results[0]?.title);
    expect([hasEnded, title]).toEqual([true, 'c 1']);
    const message = await world
      .client({ apiKey: 'wrong' })
      .search({ query: 'd' })
      .catch((error: unknown) => (error as Error).name);
    expect(message).toBe('AuthenticationError');
  });
});

describe('the spellings of generated SDKs', () => {
  test('are taken for the client and for a call', async () => {
    const client = clientWith(world.runtime, {
      apiKey: GOOD_KEY,
      baseURL: world.proxy.url,
      timeout: 1_500,
      defaultHeaders: { 'X-One': '1' },
      maxRetries: 0,
    });
    await client.search({ query: 'kestrel' });
    expect(world.proxy.seen[0]?.headers['x-one']).toBe('1');
    world.proxy.faults.push({ kind: 'slow-body', ms: 20_000 }, { kind: 'slow-body', ms: 20_000 });
    expect((await failure(client.search({ query: 'a' }))).message).toContain('1500 ms');
    const hurried = client.search({ query: 'a' }, { timeout: 200 });
    expect((await failure(hurried)).message).toContain('200 ms');
  });

  test.each([
    { baseUrl: 'http://a.example', baseURL: 'http://b.example' },
    { timeout: 1, timeoutMs: 2 },
    { headers: {}, defaultHeaders: {} },
  ])('stand for one option, which is given once: %j', (options) => {
    expect(() => new sdk.Search402({ apiKey: 'k', ...options })).toThrow(/are one option/);
  });
});

test('Retry-After-Ms goes before Retry-After', async () => {
  const client = world.client({ apiKey: GOOD_KEY });
  world.proxy.faults.push({ kind: 'status', status: 429, retryAfter: '60', retryAfterMs: '125' });
  await client.search({ query: 'a' });
  expect(world.waits).toEqual([125]);
  world.proxy.faults.push({ kind: 'status', status: 429, retryAfterMs: '90000' });
  const error = await failure(client.search({ query: 'a' }));
  expect(error).toMatchObject({ retryAfterSeconds: 90 });
});

describe('JSON', () => {
  const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

  test('can hold a quote, a payment and what was spent', async () => {
    const client = world.client();
    const quote = await client.quote();
    expect(json(quote)).toEqual({ ...quote, amountUnits: '50' });
    await client.search({ query: 'kestrel' });
    const [payment] = await client.payments.list();
    expect(json(payment)).toMatchObject({ status: 'paid', amountUnits: '50' });
    expect(json(await client.payments.spent())).toEqual({ dayUnits: '50', totalUnits: '50' });
    const outcome = await client.search({ query: 'falcon' }).withResponse();
    expect(json({ payment: outcome.payment })).toMatchObject({ payment: { amountUnits: '50' } });
  });

  test('can hold an error, without headers', async () => {
    const capped = world.client({ payment: { maxPerRequest: 1n } });
    expect(json(await failure(capped.search({ query: 'a' })))).toMatchObject({
      ...{ error: 'CapExceededError', cap: 'maxPerRequest', limitUnits: '1', amountUnits: '50' },
    });
    world.gateway.moves.push('poor');
    const shown = JSON.stringify(await failure(world.client().search({ query: 'a' })));
    expect(JSON.parse(shown)).toMatchObject({
      ...{ error: 'PaymentRequiredError', status: 402, code: 'payment_invalid' },
      quote: { amountUnits: '50' },
      payment: { status: 'refused', amountUnits: '50' },
    });
    expect(shown).not.toContain('headers');
  });
});

describe('what cannot be right is named', () => {
  test.each([`0x${'42'.repeat(32)}`, {}, null, { address: '0x1' }])(
    'a wallet that is none (%#), without repeating it',
    (wallet) => {
      const make = () => new sdk.Search402({ wallet: wallet as unknown as sdk.Wallet });
      expect(make).toThrow(sdk.ConfigurationError);
      expect(make).toThrow(/^wallet must be/);
      expect(make).not.toThrow(/4242/);
    },
  );

  test.each([
    ['behind', -3_600_000, '60 minutes behind'],
    ['ahead', 86_400_000, '1440 minutes ahead of'],
  ])('a clock that is far %s, where a payment fails for it', async (_which, byMs, text) => {
    const runtime = { ...world.runtime, nowMs: () => Date.now() + byMs };
    const payment = { store: new sdk.MemoryStore() };
    const options = { wallet: world.account, baseUrl: world.proxy.url, payment };
    const client = clientWith(runtime, { ...options, logLevel: 'off' });
    world.gateway.moves.push('expired', 'expired');
    const error = await failure(client.search({ query: 'kestrel' }));
    expect(error).toBeInstanceOf(sdk.PaymentRequiredError);
    expect(error.message).toContain(`This machine’s clock is ${text} the service’s`);
  });

  test('a clock that is right is not blamed', async () => {
    world.gateway.moves.push('expired', 'expired');
    const error = await failure(world.client().search({ query: 'kestrel' }));
    expect(error).toBeInstanceOf(sdk.PaymentRequiredError);
    expect(error.message).not.toContain('clock');
  });
});
