import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { expectRefusal } from '../../support/errors.js';
import { startFakeSearchCore, type FakeSearchCore } from '../../support/fake-search-core.js';
import { startTestService, type TestService } from '../../support/service.js';

const { good, bad } = (
  JSON.parse(readFileSync('test/vectors/payment-status.json', 'utf8')) as {
    idempotency: { good: string[]; bad: string[] };
  }
).idempotency;

let core: FakeSearchCore;
let service: TestService;
let bearer: { authorization: string };
beforeAll(async () => {
  core = await startFakeSearchCore();
  service = await startTestService({ env: { SEARCH_CORE_URL: core.url } });
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
});
afterAll(async () => {
  await service.stop();
  await core.stop();
});

const send = (key: string, query = 'lamp', url = service.gatewayUrl) =>
  service.search({ query }, { ...bearer, 'idempotency-key': key }, { url });

async function spent(): Promise<number> {
  const response = await fetch(`${service.gatewayUrl}/account`, { headers: bearer });
  return ((await response.json()) as { credits: { spent: number } }).credits.spent;
}

describe('Idempotency-Key over HTTP', () => {
  test.each(good)(
    'a search sent three times with %j costs one credit, at either port',
    async (key) => {
      const before = await spent();
      const replies = [];
      for (const url of [service.gatewayUrl, service.gatewayUrl, service.apiUrl]) {
        const response = await send(key, `lamp ${key.length}`, url);
        expect(response.status).toBe(200);
        replies.push([response.headers.get('x-request-id'), await response.text()].join(' '));
      }
      expect(new Set(replies).size).toBe(1);
      expect((await spent()) - before).toBe(1);
    },
  );

  test('ten at once whose connections are lost, then one more, cost one credit', async () => {
    const before = await spent();
    const lost = Array.from({ length: 10 }, async () => {
      const stop = new AbortController();
      const headers = { ...bearer, 'idempotency-key': 'lost' };
      const call = service.search({ query: 'lost' }, headers, { signal: stop.signal });
      await call.then(
        () => undefined,
        () => undefined,
      );
      stop.abort();
    });
    await Promise.all(lost);
    expect((await send('lost', 'lost')).status).toBe(200);
    expect((await spent()) - before).toBe(1);
  });

  test('another search under the same key is refused', async () => {
    await send('one');
    await expectRefusal(await send('one', 'bread'), 'idempotency_key_reused');
  });

  test.each(bad.filter((key) => /^[\x20-\x7e]*$/.test(key)))('%j is no key', async (key) => {
    await expectRefusal(await send(key), 'malformed_request');
  });

  test('without it, each search is its own', async () => {
    const before = await spent();
    const replies = [];
    for (let i = 0; i < 2; i += 1) {
      replies.push(await (await service.search({ query: 'lamp' }, bearer)).text());
    }
    expect(new Set(replies).size).toBe(2);
    expect((await spent()) - before).toBe(2);
  });
});
