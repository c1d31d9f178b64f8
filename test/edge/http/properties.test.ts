import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createApp } from '../../../gateway/edge/app.js';
import { isRefusal, refuse } from '../../../gateway/ground/domain/refusal.js';
import type { RateState } from '../../../gateway/customers/limits/admission.js';
import { createSearch } from '../../../gateway/search/pipeline.js';
import { parseSearchRequest } from '../../../gateway/search/request.js';
import { keptOpen } from '../../../gateway/search/keeping.js';
import {
  decodePaymentSignature,
  type PresentedPayment,
} from '../../../gateway/money/x402/payment.js';
import { freeAllowance } from '../../support/allowance.js';
import { realRandom, silentLog } from '../../support/ports.js';

let server: Server;
let url: string;
const rate: RateState = {
  policy: 'x',
  limit: 1,
  windowSeconds: 1,
  remaining: 1,
  resetSeconds: 1,
};

/** The real edge, pipeline and decoders; whoever gets past them is refused. */
beforeAll(async () => {
  const end = refuse('plan_restricted', 'Here the test ends.');
  const ended = (requestId: string) =>
    Promise.resolve({ kind: 'refused', requestId, refusal: end } as const);
  const search = createSearch<PresentedPayment>({
    run: () => Promise.resolve(end),
    keeping: keptOpen,
    meter: () => () => undefined,
    authenticate: () => Promise.resolve(refuse('invalid_api_key', 'No key is known here.')),
    admitCaller: () => Promise.resolve({ kind: 'admitted', rate }),
    admitAddress: () => ({ kind: 'admitted', rate }),
    chainAllowance: () => freeAllowance,
    readPayment: (_version, value) => decodePaymentSignature(value),
    searchOnCredits: (_caller, _request, _run, { requestId }) => ended(requestId),
    searchForPayment: (_payload, { requestId }) => ended(requestId),
  });
  const app = createApp({
    homeUrl: 'http://localhost:4020',
    face: 'gateway',
    search,
    wire: { challengeHeader: () => 'e30=', receiptHeader: () => 'e30=' },
    bodyLimits: { bytesMax: 16_384, timeoutMs: 2_000 },
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
  server = createServer(app);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/search`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const post = async (body: Uint8Array<ArrayBuffer> | string, headers: Record<string, string>) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, text };
};

test('no bytes as a body cause a 5xx or an answer larger than a page', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 20_000 }), async (bytes) => {
      const { status, text } = await post(new Uint8Array(bytes), {});
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(text.length).toBeLessThan(2_000);
    }),
    { numRuns: 150 },
  );
});

test('no JSON as a body causes a 5xx or an answer larger than a page', async () => {
  const nearly = fc.record(
    {
      query: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.jsonValue()),
      maxResults: fc.oneof(fc.integer(), fc.double(), fc.jsonValue()),
      maxDescriptionLength: fc.oneof(fc.integer(), fc.jsonValue()),
      __proto__: fc.jsonValue(),
      constructor: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.oneof(nearly, fc.jsonValue()), async (value) => {
      const { status, text } = await post(JSON.stringify(value), {});
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(text.length).toBeLessThan(2_000);
    }),
    { numRuns: 300 },
  );
});

test('no value of a payment header causes a 5xx', async () => {
  const base64 = fc.uint8Array({ maxLength: 3_000 }).map((b) => Buffer.from(b).toString('base64'));
  const json = fc.jsonValue().map((v) => Buffer.from(JSON.stringify(v)).toString('base64'));
  const text = fc.stringMatching(/^[aZ09+/=_ {}"\\-]{0,200}$/);
  await fc.assert(
    fc.asyncProperty(fc.oneof(base64, json, text), async (value) => {
      const { status } = await post('{"query":"a"}', { 'payment-signature': value });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 300 },
  );
});

test('what is parsed is in its bounds, and parsing it again changes nothing', () => {
  const value = fc.record(
    {
      query: fc.oneof(
        fc.string(),
        fc.array(fc.string()).map((words) => words.join(' ')),
      ),
      maxResults: fc.integer({ min: -2, max: 25 }),
      maxDescriptionLength: fc.integer({ min: 900, max: 8_100 }),
    },
    { requiredKeys: ['query'] },
  );
  fc.assert(
    fc.property(value, (body) => {
      const parsed = parseSearchRequest(body);
      if (isRefusal(parsed)) return;
      expect(parsed.query).toBe(body.query);
      expect(parsed.maxResults).toBeGreaterThanOrEqual(1);
      expect(parsed.maxResults).toBeLessThanOrEqual(20);
      expect(parsed.maxDescriptionLength).toBeGreaterThanOrEqual(1000);
      expect(parsed.maxDescriptionLength).toBeLessThanOrEqual(8000);
      expect(parseSearchRequest({ ...parsed })).toEqual(parsed);
    }),
  );
});
