import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { isRefusal, type RefusalCode } from '../../../gateway/ground/domain/refusal.js';
import { systemClock } from '../../../gateway/ground/system.js';
import { createUpstream } from '../../../gateway/edge/http/upstream.js';
import { expectRefusal } from '../../support/errors.js';
import {
  goodAnswer,
  startFakeSearchCore,
  type FakeSearchCore,
} from '../../support/fake-search-core.js';
import { alwaysWell } from '../../support/search-nodes.js';
import { silentLog } from '../../support/ports.js';
import { receiptOf, signPayment, transfersToPayee } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';

let core: FakeSearchCore;
let service: TestService;
let bearer: { authorization: string };

beforeAll(async () => {
  core = await startFakeSearchCore();
  service = await startTestService({
    env: { SEARCH_CORE_URL: core.url, UPSTREAM_TIMEOUT_MS: '2000' },
  });
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
});
afterAll(async () => {
  await service.stop();
  await core.stop();
});
beforeEach(() => {
  core.behave((request, response) => response.end(goodAnswer(request)));
});

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const item = { title: 't', url: 'https://pages.example/', description: 'd' };
const shaped =
  (change: (answer: Record<string, unknown>) => void): Answer =>
  (request, response) => {
    const answer = JSON.parse(goodAnswer(request, [item])) as Record<string, unknown>;
    change(answer);
    response.end(JSON.stringify(answer));
  };

const FAULTS: readonly (readonly [string, RefusalCode, Answer])[] = [
  ['says 500', 'upstream_error', (_q, response) => response.writeHead(500).end('oops')],
  ['says 422', 'upstream_error', (_q, response) => response.writeHead(422).end('{}')],
  ['redirects', 'upstream_error', (_q, r) => r.writeHead(302, { location: '/x' }).end()],
  ['says 204', 'upstream_error', (_q, response) => response.writeHead(204).end()],
  ['is full', 'service_unavailable', (_q, response) => response.writeHead(503).end()],
  ['sends no JSON', 'upstream_error', (_q, response) => response.end('<html>')],
  ['sends nothing', 'upstream_error', (_q, response) => response.end()],
  ['hangs up', 'upstream_error', (request) => request.socket.destroy()],
  [
    'hangs up in the middle',
    'upstream_error',
    (request, response) => {
      response.writeHead(200, { 'content-length': '100000' });
      response.write('{"requestId":');
      setTimeout(() => request.socket.destroy(), 20);
    },
  ],
  ['never answers', 'upstream_timeout', () => undefined],
  [
    'drips for ever',
    'upstream_timeout',
    (_q, response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drip));
    },
  ],
  [
    'sends without an end',
    'upstream_error',
    (_q, response) => {
      const block = Buffer.alloc(1 << 20, 0x20);
      const pour = (): void => {
        if (!response.destroyed) response.write(block, pour);
      };
      pour();
    },
  ],
  ['answers another request', 'upstream_error', shaped((answer) => (answer.requestId = 'other'))],
  ['adds a member', 'upstream_error', shaped((answer) => (answer.extra = 1))],
  ['leaves one out', 'upstream_error', shaped((answer) => delete answer.result)],
];

describe.each(FAULTS)('a search-core that %s', (_what, code, answer) => {
  test(`is a ${code}; the key’s credit stays, the payment stays good`, async () => {
    const query = { query: `q ${_what}` };
    const payment = { 'payment-signature': await signPayment(service, query) };
    const transfers = await transfersToPayee(service);
    const credits = await available();
    core.behave(answer);
    await expectRefusal(await service.search(query, bearer), code);
    const refused = await service.search(query, payment);
    await expectRefusal(refused, code);
    expect(refused.headers.get('payment-required')).toBeNull();
    expect(refused.headers.get('payment-response')).toBeNull();
    expect(await available()).toBe(credits);
    expect(await transfersToPayee(service)).toHaveLength(transfers.length);

    core.behave((request, response) => response.end(goodAnswer(request)));
    const paid = await service.search(query, payment);
    expect(paid.status).toBe(200);
    expect(receiptOf(paid).success).toBe(true);
  });
});

test('a keyed search spends one credit on a 200', async () => {
  const before = await available();
  expect((await service.search({ query: 'a' }, bearer)).status).toBe(200);
  expect(await available()).toBe(before - 1);
});

test('search-core is told the search and an id, and nothing of the caller', async () => {
  let asked = '';
  core.behave((request, response, body) => {
    asked = body;
    response.end(goodAnswer(request));
  });
  await service.search(
    { query: ' a  b ' },
    { ...bearer, cookie: 'c=1', 'x-forwarded-for': '1.2.3.4' },
  );
  expect(JSON.parse(asked)).toEqual({
    query: ' a  b ',
    maxResults: 10,
    maxDescriptionLength: 3000,
  });
  expect(Object.keys(core.seen.at(-1) ?? {}).sort()).toEqual([
    'accept',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-request-id',
  ]);
});

test('a caller that leaves during the search pays nothing, and its payment stays good', async () => {
  const query = { query: 'leaving' };
  const payment = { 'payment-signature': await signPayment(service, query) };
  const transfers = await transfersToPayee(service);
  const leaving = new AbortController();
  core.behave(() => leaving.abort());
  await expect(service.search(query, payment, { signal: leaving.signal })).rejects.toThrow(
    /abort/i,
  );
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(await transfersToPayee(service)).toHaveLength(transfers.length);
  core.behave((request, response) => response.end(goodAnswer(request)));
  expect((await service.search(query, payment)).status).toBe(200);
});

test('a search finds no socket that search-core closes at that moment because it was idle', async () => {
  core.behave((request, response) => response.end(goodAnswer(request)));
  // Node's servers close a socket six seconds after its last answer.
  const idleMs = Array.from({ length: 40 }, (_, index) => 5_980 + index);
  const kinds = await Promise.all(
    idleMs.map(async (ms) => {
      const limits = { timeoutMs: 2000, bytesMax: 65_536, socketsMax: 1 };
      const upstream = createUpstream({
        ...{ nodes: [alwaysWell(core.url)], ...limits, log: silentLog },
        clock: systemClock,
        onTry: () => undefined,
      });
      const ask = () =>
        upstream(
          { query: 'a', maxResults: 1, maxDescriptionLength: 500 },
          { requestId: 'id', signal: new AbortController().signal },
        );
      await ask();
      await new Promise((resolve) => setTimeout(resolve, ms));
      const answer = await ask();
      upstream.close();
      return isRefusal(answer) ? answer.code : answer.kind;
    }),
  );
  expect(new Set(kinds)).toEqual(new Set(['answer']));
});

test('503 with Retry-After while search-core is not there', async () => {
  await core.stop();
  const refused = await service.search({ query: 'a' }, bearer);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const { detail } = await expectRefusal(refused, 'service_unavailable');
  expect(detail).toMatch(/Retry after \d+ seconds?\.$/);
});

async function available(): Promise<number> {
  const response = await fetch(`${service.gatewayUrl}/account`, { headers: bearer });
  const account = (await response.json()) as { credits: { available: number } };
  return account.credits.available;
}
