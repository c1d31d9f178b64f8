import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { PAGES, startTestService, type TestService } from '../../support/service.js';
import { signPayment } from '../../support/pay.js';

/** Long enough to be compressed. */
const LONG = {
  url: 'https://pages.example/lamps',
  title: 'Lamps',
  text: 'A lamp burns oil, gas or wire, and each lamp wants another hand. '.repeat(40),
};
const BODY = { query: 'lamp' };

let service: TestService;
let bearer: { authorization: string };
beforeAll(async () => {
  service = await startTestService({ pages: [...PAGES, LONG] });
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
});
afterAll(() => service.stop());

/** What a reply says of its origin; its digest is that of the bytes that came, decompressed. */
async function originOf(response: Response) {
  expect(response.status).toBe(200);
  const text = await response.text();
  const digest = response.headers.get('unencoded-digest');
  expect(digest).toBe(`sha-256=:${createHash('sha256').update(text).digest('base64')}:`);
  const generation = response.headers.get('index-generation');
  expect(generation).toMatch(/^[0-9]+$/);
  return { text, digest, generation, coding: response.headers.get('content-encoding') };
}

const resultsOf = (text: string) => /"results":\[.*\]/.exec(text)?.[0];

describe('what a reply was found in', () => {
  test('the same question gives the same results in the same generation, and its digest', async () => {
    const [first, second] = [
      await originOf(await service.search(BODY, bearer)),
      await originOf(await service.search(BODY, bearer)),
    ];
    expect(resultsOf(first.text)).toContain('Lamps');
    expect(resultsOf(second.text)).toBe(resultsOf(first.text));
    expect(second.generation).toBe(first.generation);
  });

  test('copies under one Idempotency-Key say the same, compressed or not', async () => {
    const origins = [];
    for (const encoding of ['identity', 'gzip', 'br']) {
      const headers = { ...bearer, 'idempotency-key': 'k', 'accept-encoding': encoding };
      origins.push(await originOf(await service.search(BODY, headers)));
    }
    expect(origins.map(({ coding }) => coding)).toEqual([null, 'gzip', 'br']);
    expect(
      new Set(origins.map(({ text, digest, generation }) => `${digest} ${generation} ${text}`))
        .size,
    ).toBe(1);
  });

  test('a paid reply says the same whenever it is sent again', async () => {
    const payment = { 'payment-signature': await signPayment(service, BODY) };
    const paid = await originOf(await service.search(BODY, payment));
    expect(await originOf(await service.search(BODY, payment))).toEqual(paid);
  });

  test('a search without results has an origin as well, a refusal has none', async () => {
    await originOf(await service.search({ query: 'zeppelin' }, bearer));
    const { headers } = await service.search(BODY);
    expect([headers.get('index-generation'), headers.get('unencoded-digest')]).toEqual([
      null,
      null,
    ]);
  });

  test('pages may read both headers', async () => {
    const { headers } = await service.search(BODY, { ...bearer, origin: 'https://page.example' });
    const exposed = headers.get('access-control-expose-headers');
    expect(exposed).toContain('Index-Generation');
    expect(exposed).toContain('Unencoded-Digest');
  });
});
