import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { SearchResponse } from '../../search-core/contract.js';
import { buildIndex } from '../../search-core/index/build.js';
import { addToBlocklist, blocklistFile } from '../../search-core/ingest/blocked/blocklist.js';
import { type SearchCore, startSearchCore } from '../../search-core/main.js';
import type { Page } from '../../search-core/page.js';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const PAGES: Page[] = [
  { url: 'https://a.example/1', title: 'Typed data', text: 'Sign typed data with a wallet.' },
  { url: 'https://a.example/2', title: 'Wallets', text: 'A wallet keeps keys. Data is typed.' },
  { url: 'https://a.example/3', title: 'Gardening', text: 'Roses and tulips. '.repeat(400) },
];

async function* pages(): AsyncGenerator<Page> {
  for (const page of PAGES) yield await Promise.resolve(page);
}

let directory: string;
let core: SearchCore;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'search-core-'));
  await buildIndex(join(directory, 'index'), pages());
  core = await startSearchCore({ listen: '127.0.0.1:0', indexDir: join(directory, 'index'), log });
});

afterAll(async () => {
  await core.close();
  rmSync(directory, { recursive: true });
});

const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${core.url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

describe('the blocklist of an index', () => {
  test('keeps a page out of answers from the next search on, before anybody has deleted it', async () => {
    const file = blocklistFile(join(directory, 'index'));
    const urls = async (): Promise<string[]> => {
      const reply = await post({ query: 'typed data', maxResults: 1 });
      return ((await reply.json()) as SearchResponse).result.results.map(({ url }) => url);
    };
    expect(await urls()).toEqual(['https://a.example/1']);
    addToBlocklist(file, ['https://a.example/1'], 'a test');
    expect(await urls()).toEqual(['https://a.example/2']);
    rmSync(file);
    expect(await urls()).toEqual(['https://a.example/1']);
  });
});

describe('POST /search', () => {
  test('answers with pages in rank order, in the shape of the contract', async () => {
    const requestId = '3f2a1c9e-8a68-4b11-9c3e-0a6f0e7f1d11';
    const reply = await post({ query: 'typed data' }, { 'x-request-id': requestId });
    expect(reply.status).toBe(200);
    const body = (await reply.json()) as SearchResponse;
    expect(body.requestId).toBe(requestId);
    expect(Object.keys(body).sort()).toEqual(['requestId', 'result']);
    expect(body.result.totalResults).toBe(2);
    expect(body.result.searchMetadata.executionTime).toBeGreaterThan(0);
    expect(body.result.results.map(({ url }) => url)).toEqual([
      'https://a.example/1',
      'https://a.example/2',
    ]);
    expect(body.result.results[0]).toEqual({
      title: 'Typed data',
      url: 'https://a.example/1',
      description: 'Sign typed data with a wallet.',
    });
  });

  test('a phrase in quotes is found in its order first', async () => {
    const found = async (query: string): Promise<string[]> => {
      const body = (await (await post({ query })).json()) as SearchResponse;
      return body.result.results.map(({ url }) => url);
    };
    expect((await found('"typed data"'))[0]).toBe('https://a.example/1');
    expect(await found('"data types"')).toEqual(await found('data types'));
  });

  test('a description is never longer than asked', async () => {
    const reply = await post({ query: 'roses', maxDescriptionLength: 1000 });
    const [first] = ((await reply.json()) as SearchResponse).result.results;
    expect(first?.description.length).toBeLessThanOrEqual(1000);
    expect(first?.description.length).toBeGreaterThan(800);
  });

  test.each([
    ['{', 400, 'invalid_json'],
    ['[]', 400, 'invalid_json'],
    [{ prompt: 'x' }, 422, 'unsupported_parameter'],
    [{ query: 5 }, 422, 'invalid_parameter'],
    [{ query: '  ' }, 422, 'invalid_parameter'],
    [{ query: 'x '.repeat(51) }, 422, 'invalid_parameter'],
    [{ query: 'x', maxResults: 21 }, 422, 'invalid_parameter'],
    [{ query: 'x', maxDescriptionLength: 999 }, 422, 'invalid_parameter'],
    [{ query: 'x'.repeat(70_000) }, 413, 'payload_too_large'],
  ])('refuses %j with %d %s', async (body, status, code) => {
    const reply = await post(body);
    expect(reply.status).toBe(status);
    const error = (await reply.json()) as Record<string, unknown>;
    expect(Object.keys(error).sort()).toEqual(['code', 'detail', 'requestId', 'status', 'title']);
    expect(error).toMatchObject({ status, code });
  });

  test('refuses another method, media type or path', async () => {
    const get = await fetch(`${core.url}/search`);
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await post({ query: 'x' }, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await fetch(`${core.url}/other`)).status).toBe(404);
  });
});

test('tells health, readiness and metrics', async () => {
  expect((await fetch(`${core.url}/livez`)).status).toBe(200);
  expect(await (await fetch(`${core.url}/readyz`)).json()).toMatchObject({ pages: 3 });
  expect(await (await fetch(`${core.url}/metrics`)).text()).toContain('search_core_search_seconds');
});

test('is not ready without an index, and serves on a socket', async () => {
  const path = join(directory, 'core.sock');
  const empty = await startSearchCore({
    listen: `unix:${path}`,
    indexDir: join(directory, 'none'),
    log,
  });
  const status = await new Promise((resolve, reject) => {
    httpRequest({ socketPath: path, path: '/readyz' }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    })
      .on('error', reject)
      .end();
  });
  expect(status).toBe(503);
  await empty.close();
});
