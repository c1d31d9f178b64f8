import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { createApp } from '../../gateway/edge/app.js';
import { refuse } from '../../gateway/ground/domain/refusal.js';
import type { SearchReply } from '../../gateway/search/reply.js';
import { judge } from '../support/interface-document.js';
import { takeExchanges } from '../support/interface-watch.js';
import { realRandom, silentLog } from '../support/ports.js';

/** What the check around every test would say of the answer to one search. */
async function faultsOf(reply: SearchReply): Promise<readonly string[]> {
  const app = createApp({
    homeUrl: 'http://localhost:4020',
    face: 'gateway',
    search: () => Promise.resolve(reply),
    wire: { challengeHeader: () => 'e30=', receiptHeader: () => 'e30=' },
    bodyLimits: { bytesMax: 1000, timeoutMs: 1000 },
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
  await request(app).post('/search').send({ query: 'a' });
  const [exchange, ...more] = takeExchanges();
  expect(more).toEqual([]);
  return (exchange && judge(exchange)?.faults) ?? ['nothing was seen'];
}

const requestId = '6f2b1c9e-4b0a-4d35-9a43-0d3f3c3a7f10';
const found = (result: object): SearchReply => ({
  kind: 'results',
  requestId,
  body: Buffer.from(JSON.stringify({ requestId, result })),
});
const good = { results: [], searchMetadata: { executionTime: 0.1 }, totalResults: 0 };

test('an answer as documented is seen, and nothing is said of it', async () => {
  expect(await faultsOf(found(good))).toEqual([]);
});

const item = { title: '', description: '', url: 'nowhere' };
const limited = (status: number, retryAfterSeconds = 1): SearchReply => ({
  kind: 'refused',
  requestId,
  refusal: { ...refuse('rate_limited', 'Slower.', { retryAfterSeconds }), status },
});

test.each([
  ['a member more', found({ ...good, cached: true }), /body: .*additional properties/],
  ['a member less', found({ results: [], totalResults: 0 }), /body: .*searchMetadata/],
  ['a URL that is none', found({ ...good, results: [item] }), /format "uri"/],
  ['another status', limited(418), /418 is not documented/],
  ['a code of another status', limited(503), /body: /],
  ['a Retry-After that is no number', limited(429, 0.5), /Retry-After: /],
])('an answer with %s is reported', async (_what, reply, fault) => {
  expect((await faultsOf(reply)).join('\n')).toMatch(fault);
});

test('headers that are missing, or have no business there, are reported', () => {
  const exchange = {
    ...{ method: 'GET', path: '/search', status: 405 },
    headers: { 'content-type': 'application/json', 'payment-required': 'x' },
    body: Buffer.from('{}'),
  };
  const faults = judge(exchange)?.faults;
  expect(faults).toEqual(
    expect.arrayContaining([
      'X-Request-Id is missing',
      'Allow is missing',
      'PAYMENT-REQUIRED is not documented here',
    ]),
  );
});

test('what is not listed is a 404 in the closed form, or it is reported', () => {
  const headers = { 'content-type': 'text/html' };
  const page = { method: 'GET', path: '/account/x', status: 200, headers, body: Buffer.alloc(0) };
  expect(judge(page)?.faults).toEqual(['200, where nothing is documented']);
  const missing = {
    ...page,
    status: 404,
    path: '/Search',
    headers: { 'content-type': 'application/json' },
  };
  expect(judge({ ...missing, body: Buffer.from('{}') })?.faults).toHaveLength(1);
  expect(judge({ ...page, path: '/console/keys' })).toBeUndefined();
});

test('the linter of the document finds what is planted in it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'search402-lint-'));
  const file = join(folder, 'openapi.json');
  const text = readFileSync(resolve('docs/openapi.json'), 'utf8');
  writeFileSync(file, text.replace('"operationId": "search",', ''));
  const linted = promisify(execFile)(process.execPath, [resolve('scripts/lint-openapi.mjs'), file]);
  await expect(linted).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/operation-operationId/) as unknown,
  });
  rmSync(folder, { recursive: true });
});
