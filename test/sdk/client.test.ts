import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { REFUSALS } from '../../gateway/ground/domain/refusal.js';
import * as sdk from '../../sdk/typescript/src/index.js';
import { realRuntime } from '../../sdk/typescript/src/runtime.js';
import type { Fault } from '../support/fault-proxy.js';
import { GOOD_KEY } from '../support/sdk-gateway.js';
import { clientWith, startSdkWorld, type SdkWorld } from '../support/sdk.js';

let world: SdkWorld;
let client: sdk.Search402;
beforeEach(async () => {
  world = await startSdkWorld();
  client = world.client({ apiKey: GOOD_KEY });
});
afterEach(() => world.close());

const failure = async (work: Promise<unknown>): Promise<sdk.Search402Error> => {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof sdk.Search402Error) return error;
  throw new Error(`expected a Search402Error, got ${String(error)}`);
};
const apiFailure = async (work: Promise<unknown>): Promise<sdk.ApiError> => {
  const error = await failure(work);
  if (error instanceof sdk.ApiError) return error;
  throw error;
};

describe('a search with a key', () => {
  test('sends only what was given and returns the closed response', async () => {
    const answer = await client.search({ query: 'kestrel cliffs', maxResults: 2 });
    expect(answer.result.results.map((item) => item.title)).toEqual([
      'kestrel cliffs 1',
      'kestrel cliffs 2',
    ]);
    expect(JSON.parse(world.proxy.seen[0]?.body ?? '')).toEqual({
      query: 'kestrel cliffs',
      maxResults: 2,
    });
  });

  test('shows status, headers and the number of tries on request', async () => {
    world.proxy.faults.push({ kind: 'drop-before' });
    const raw = await client.searchWithResponse({ query: 'kestrel' });
    expect(raw.status).toBe(200);
    expect(raw.headers.get('content-type')).toContain('application/json');
    expect(raw.tries).toBe(2);
    expect(raw.payment).toBeUndefined();
  });

  test('takes the key and the address from the environment', async () => {
    process.env.SEARCH402_API_KEY = GOOD_KEY;
    process.env.SEARCH402_BASE_URL = `${world.proxy.url}/`;
    try {
      const fromEnvironment = clientWith(world.runtime);
      await expect(fromEnvironment.search({ query: 'kestrel' })).resolves.toBeDefined();
    } finally {
      delete process.env.SEARCH402_API_KEY;
      delete process.env.SEARCH402_BASE_URL;
    }
  });

  test('refuses options that cannot be right before anything is sent', () => {
    const wallet = world.account;
    const make = (options: sdk.ClientOptions) => () => new sdk.Search402(options);
    for (const options of [
      { apiKey: 'a', wallet },
      { apiKey: 'two words' },
      { apiKey: 'a', baseUrl: 'nowhere' },
      { apiKey: 'a', baseUrl: 'ftp://example.com' },
      { apiKey: 'a', baseUrl: 'https://user:secret@example.com' },
      { apiKey: 'a', maxRetries: -1 },
      { apiKey: 'a', maxRetries: 11 },
      { apiKey: 'a', timeoutMs: 0 },
      { apiKey: 'a', payment: {} },
      { wallet, payment: { maxTotal: '1 dollar' } },
      { wallet, payment: { maxPerDay: -1n } },
    ]) {
      expect(make(options)).toThrow(sdk.ConfigurationError);
    }
  });

  test('uses the given fetch', async () => {
    let calls = 0;
    const own: typeof fetch = (input, init) => {
      calls += 1;
      return fetch(input, init);
    };
    await world.client({ apiKey: GOOD_KEY, fetch: own }).search({ query: 'kestrel' });
    expect(calls).toBe(1);
  });
});

describe('retries', () => {
  const retried: readonly Fault[] = [
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'cut-body' },
    ...[408, 429, 500, 502, 503, 504, 599].map((status) => ({ kind: 'status', status }) as const),
  ];

  test.each(retried)('happen twice by default after %j', async (fault) => {
    world.proxy.faults.push(fault, fault);
    await client.search({ query: 'kestrel' });
    expect(world.proxy.seen).toHaveLength(3);
    expect(world.waits).toEqual([500, 1000]);

    world.proxy.faults.push(fault, fault, fault, { kind: 'pass' });
    await failure(client.search({ query: 'kestrel' }));
    expect(world.proxy.seen).toHaveLength(6);
  });

  test.each([400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 301])(
    'never happen after status %d',
    async (status) => {
      world.proxy.faults.push({ kind: 'status', status });
      expect((await apiFailure(client.search({ query: 'kestrel' }))).status).toBe(status);
      expect(world.proxy.seen).toHaveLength(1);
    },
  );

  test('are counted per request before per client, and 0 disables them', async () => {
    const lazy = world.client({ apiKey: GOOD_KEY, maxRetries: 0 });
    world.proxy.faults.push({ kind: 'drop-before' });
    expect(await failure(lazy.search({ query: 'kestrel' }))).toBeInstanceOf(sdk.ConnectionError);
    expect(world.proxy.seen).toHaveLength(1);
    world.proxy.faults.push(...Array<Fault>(5).fill({ kind: 'drop-before' }));
    await lazy.search({ query: 'kestrel' }, { maxRetries: 5 });
    expect(world.proxy.seen).toHaveLength(7);
  });

  test('grow to eight seconds and lose up to a quarter at random', async () => {
    const runtime = { ...world.runtime, random: () => 0.999 };
    const options = { apiKey: GOOD_KEY, baseUrl: world.proxy.url, logLevel: 'off' } as const;
    const patient = clientWith(runtime, { ...options, maxRetries: 6 });
    world.proxy.faults.push(...Array<Fault>(6).fill({ kind: 'status', status: 500 }));
    await patient.search({ query: 'kestrel' });
    expect(world.waits).toEqual([375, 750, 1501, 3001, 6002, 6002]);
  });

  test('wait as long as Retry-After says, in seconds or as a date', async () => {
    const date = new Date(Date.now() + 20_000).toUTCString();
    world.proxy.faults.push(
      { kind: 'status', status: 429, retryAfter: '7' },
      { kind: 'status', status: 503, retryAfter: date },
    );
    await client.search({ query: 'kestrel' });
    expect(world.waits[0]).toBe(7000);
    expect(world.waits[1]).toBeGreaterThanOrEqual(18_000);
    expect(world.waits[1]).toBeLessThanOrEqual(20_000);
  });

  test('do not happen when Retry-After is longer than a minute, and the error says how long', async () => {
    world.proxy.faults.push({ kind: 'status', status: 429, retryAfter: '3600' });
    const error = await apiFailure(client.search({ query: 'kestrel' }));
    expect(error).toBeInstanceOf(sdk.RateLimitError);
    expect(error.retryAfterSeconds).toBe(3600);
    expect(world.proxy.seen).toHaveLength(1);
  });

  test('an unreadable Retry-After is no reason to wait', async () => {
    world.proxy.faults.push({ kind: 'status', status: 429, retryAfter: '-5' });
    await client.search({ query: 'kestrel' });
    expect(world.waits).toEqual([500]);
  });
});

describe('timeouts and aborts', () => {
  test('a body that does not arrive in time is a timeout, and is retried', async () => {
    world.proxy.faults.push(...Array<Fault>(2).fill({ kind: 'slow-body', ms: 20_000 }));
    const hurried = world.client({ apiKey: GOOD_KEY, timeoutMs: 1_500, maxRetries: 1 });
    expect(await failure(hurried.search({ query: 'kestrel' }))).toBeInstanceOf(sdk.TimeoutError);
    expect(world.proxy.seen).toHaveLength(2);
  });

  test('an abort during a try ends the call without another try', async () => {
    world.proxy.faults.push({ kind: 'slow-body', ms: 20_000 });
    const stop = new AbortController();
    const call = failure(client.search({ query: 'kestrel' }, { signal: stop.signal }));
    while (world.proxy.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort();
    expect(await call).toBeInstanceOf(sdk.AbortedError);
    expect(world.proxy.seen).toHaveLength(1);
  });

  test('an abort during a wait ends the call at once', async () => {
    world.proxy.faults.push({ kind: 'status', status: 503, retryAfter: '30' });
    const options = { apiKey: GOOD_KEY, baseUrl: world.proxy.url, logLevel: 'off' } as const;
    const stop = new AbortController();
    const waiting = clientWith(realRuntime, options);
    const call = failure(waiting.search({ query: 'kestrel' }, { signal: stop.signal }));
    while (world.proxy.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    setTimeout(() => stop.abort(), 500);
    expect(await call).toBeInstanceOf(sdk.AbortedError);
    expect(world.proxy.seen).toHaveLength(1);
  });
});

describe('errors', () => {
  test('know exactly the codes that the gateway has', () => {
    expect([...sdk.ERROR_CODES].sort()).toEqual(Object.keys(REFUSALS).sort());
  });

  test('carry code, title, detail and request id of the service', async () => {
    const stranger = world.client({ apiKey: 's402_test_wrong' });
    const error = await apiFailure(stranger.search({ query: 'kestrel' }));
    expect(error).toBeInstanceOf(sdk.AuthenticationError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key', title: 'invalid_api_key' });
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(error.message).toContain('refused with invalid_api_key');
  });

  test('have a class for each status', async () => {
    const classes = {
      malformed_request: sdk.BadRequestError,
      invalid_api_key: sdk.AuthenticationError,
      insufficient_credits: sdk.PaymentRequiredError,
      plan_restricted: sdk.PermissionDeniedError,
      not_found: sdk.NotFoundError,
      method_not_allowed: sdk.MethodNotAllowedError,
      request_timeout: sdk.RequestTimeoutError,
      payment_identifier_conflict: sdk.ConflictError,
      payload_too_large: sdk.PayloadTooLargeError,
      unsupported_media_type: sdk.UnsupportedMediaTypeError,
      unsupported_parameter: sdk.UnprocessableContentError,
      rate_limited: sdk.RateLimitError,
      internal_error: sdk.ServerError,
      settlement_pending: sdk.SettlementPendingError,
    } as const;
    for (const [code, kind] of Object.entries(classes)) {
      world.gateway.moves.push({ code: code as keyof typeof classes, retryAfter: 99 });
      const error = await apiFailure(client.search({ query: 'kestrel' }));
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ code, retryAfterSeconds: 99, name: kind.name });
    }
  });

  test('a 200 that is no search response is an error, not an empty result', async () => {
    const fetched: typeof fetch = () => Promise.resolve(new Response('{"result":{}}'));
    const odd = world.client({ apiKey: GOOD_KEY, fetch: fetched });
    expect(await failure(odd.search({ query: 'kestrel' }))).toBeInstanceOf(sdk.ProtocolError);
  });
});

describe('the log', () => {
  test('says what happens and never shows a key or a signed payment', async () => {
    const lines: string[] = [];
    const note = (message: string, fields: object) =>
      void lines.push(message + JSON.stringify(fields));
    const logger: sdk.Logger = { debug: note, info: note, warn: note, error: note };
    const loud = { logger, logLevel: 'debug' } as const;
    world.proxy.faults.push({ kind: 'drop-before' });
    await world.client({ apiKey: GOOD_KEY, ...loud }).search({ query: 'kestrel' });
    world.gateway.moves.push('expired');
    await world.client(loud).search({ query: 'falcon' });
    const text = lines.join('\n');
    expect(text).toMatch(/search402: retry/);
    expect(text).toMatch(/the payment was not taken/);
    expect(text).not.toContain(GOOD_KEY);
    for (const { payment } of world.proxy.seen) {
      if (payment !== undefined) expect(text).not.toContain(payment);
    }
  });
});

describe('searchMany', () => {
  test('merges by reciprocal rank, each URL once', async () => {
    const merged = await client.searchMany({ queries: ['a', 'b', 'b'], maxResults: 2 });
    expect(merged.results.map(({ url, score }) => [url, score])).toEqual([
      ['https://example.com/shared', 2 / 61],
      ['https://example.com/a/2', 1 / 62],
      ['https://example.com/b/2', 1 / 62],
    ]);
    expect(merged.results[0]?.foundBy).toEqual([
      { query: 'a', rank: 1 },
      { query: 'b', rank: 1 },
    ]);
    expect(world.proxy.seen).toHaveLength(2);
  });

  test('spends maxCharacters on the best pages, and cuts or leaves out the others', async () => {
    const queries = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const all = await client.searchMany({ queries });
    const sizeOf = (pages: typeof all.results) =>
      pages.reduce(
        (sum, page) => sum + page.title.length + page.url.length + page.description.length,
        0,
      );
    expect(sizeOf(all.results)).toBeGreaterThan(700);
    const some = await client.searchMany({ queries, maxCharacters: 700 });
    expect(sizeOf(some.results)).toBeLessThanOrEqual(700);
    expect(some.results.length).toBeLessThan(all.results.length);
    expect(some.results.slice(0, -1)).toEqual(all.results.slice(0, some.results.length - 1));
    expect(some.responses.size).toBe(queries.length);
    const tooFew = client.searchMany({ queries, maxCharacters: 499 });
    expect(await failure(tooFew)).toBeInstanceOf(sdk.ConfigurationError);
  });

  test('never has more requests in flight than it may', async () => {
    let inFlight = 0;
    let most = 0;
    const counting: typeof fetch = async (input, init) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      const answer = await fetch(input, init);
      inFlight -= 1;
      return answer;
    };
    const queries = Array.from({ length: 20 }, (_, i) => `query ${i}`);
    const busy = world.client({ apiKey: GOOD_KEY, fetch: counting });
    const { responses } = await busy.searchMany({ queries, concurrency: 3 });
    expect(responses.size).toBe(20);
    expect([...responses.keys()]).toEqual(queries);
    expect(most).toBe(3);
  });

  test('names the queries that failed, and throws only when all did', async () => {
    world.proxy.faults.push({ kind: 'status', status: 403 });
    const some = await client.searchMany({ queries: ['a', 'b'], concurrency: 1 });
    expect([...some.failures.keys()]).toEqual(['a']);
    expect([...some.responses.keys()]).toEqual(['b']);
    world.proxy.faults.push({ kind: 'status', status: 403 }, { kind: 'status', status: 403 });
    const all = client.searchMany({ queries: ['a', 'b'] });
    expect(await failure(all)).toBeInstanceOf(sdk.PermissionDeniedError);
  });
});
