import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { parseOpenSearch } from '../../search-core/engines/opensearch/api.js';
import { OpenSearchClient } from '../../search-core/engines/opensearch/client.js';
import { ONE_SHARD } from '../../search-core/engines/opensearch/documents.js';
import { OpenSearchEngine } from '../../search-core/engines/opensearch/engine.js';
import { openSearchSink } from '../../search-core/ingest/opensearch-sink.js';
import { UnavailableError } from '../../search-core/engine.js';
import { startSearchCore } from '../../search-core/main.js';
import type { Page } from '../../search-core/page.js';
import { startFakeOpenSearch } from '../support/fake-opensearch.js';

const LIMITS = { deadlineMs: 10_000, postingsMax: 1e9 };
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** An index of its own: on the server that is named, or on a stand-in. */
async function newIndex(): Promise<string> {
  const fake = await startFakeOpenSearch();
  cleanUps.push(() => fake.stop());
  return `${process.env.TEST_OPENSEARCH ?? fake.url}/pages-${randomUUID()}`;
}

const page = (n: number, text: string): Page => ({
  url: `https://example.test/${n}`,
  title: `Page ${n}`,
  text,
});

async function* stream(pages: readonly Page[]): AsyncGenerator<Page> {
  for (const one of pages) yield await Promise.resolve(one);
}

async function found(engine: OpenSearchEngine, query: string): Promise<string[]> {
  const request = { query, maxResults: 20, maxDescriptionLength: 1000 };
  const { results } = await engine.search(request, LIMITS);
  return results.map(({ url }) => url.slice(-1));
}

describe('an OpenSearch index', () => {
  test('is replaced at once, again and again, and added to in between', async () => {
    const address = parseOpenSearch(await newIndex());
    const engine = new OpenSearchEngine(address);
    const sink = openSearchSink(address, ONE_SHARD);
    expect(await sink.replace(stream([page(1, 'red'), page(2, 'red')]))).toMatchObject({
      pages: 2,
    });
    expect(await sink.update(stream([page(3, 'red')]), ['https://example.test/1'])).toMatchObject({
      pages: 2,
    });
    expect(await found(engine, 'red')).toEqual(['2', '3']);
    const { generation } = await engine.stats();
    expect(await sink.replace(stream([page(4, 'red')]))).toMatchObject({ pages: 1 });
    expect(await found(engine, 'red')).toEqual(['4']);
    expect((await engine.stats()).generation).toBeGreaterThan(generation);
  });

  test('serves as it was while a replacement is made, and when that fails', async () => {
    const address = parseOpenSearch(await newIndex());
    const engine = new OpenSearchEngine(address);
    const sink = openSearchSink(address, ONE_SHARD);
    await sink.replace(stream([page(1, 'red')]));
    const broken = async function* (): AsyncGenerator<Page> {
      yield page(2, 'red');
      expect(await found(engine, 'red')).toEqual(['1']);
      throw new Error('the source broke');
    };
    await expect(sink.replace(broken())).rejects.toThrow('the source broke');
    expect(await found(engine, 'red')).toEqual(['1']);
    await sink.replace(stream([page(3, 'red')]));
    expect(await found(engine, 'red')).toEqual(['3']);
  });

  test('drops what was not committed when it is closed', async () => {
    const engine = new OpenSearchEngine(parseOpenSearch(await newIndex()));
    await engine.apply([{ put: page(1, 'red') }]);
    await engine.close();
    await engine.commit();
    expect((await engine.stats()).pages).toBe(0);
  });

  test('gives passages of the stored text around the query, as long as asked', async () => {
    const engine = new OpenSearchEngine(parseOpenSearch(await newIndex()));
    const filler = 'Nothing is said in this sentence about it. '.repeat(100);
    await engine.apply([{ put: page(1, `${filler}The quokka lives on an island. ${filler}`) }]);
    await engine.commit();
    const request = { query: 'quokka', maxResults: 1, maxDescriptionLength: 1000 };
    const [result] = (await engine.search(request, LIMITS)).results;
    expect(result?.description).toContain('The quokka lives on an island.');
    expect(result?.description.length).toBeLessThanOrEqual(1000);
  });
});

test('search-core serves an OpenSearch index where the setting names one', async () => {
  const url = await newIndex();
  await openSearchSink(parseOpenSearch(url), ONE_SHARD).replace(stream([page(1, 'red roses')]));
  const indexDir = mkdtempSync(join(tmpdir(), 'search-core-'));
  cleanUps.push(() => rmSync(indexDir, { recursive: true }));
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const core = await startSearchCore({
    listen: '127.0.0.1:0',
    indexDir,
    openSearch: { url, passwordFile: undefined, layout: ONE_SHARD },
    log,
  });
  cleanUps.push(() => core.close());
  const reply = await fetch(`${core.url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'roses' }),
  });
  expect(await reply.json()).toMatchObject({ result: { totalResults: 1 } });
  expect((await fetch(`${core.url}/readyz`)).status).toBe(200);
});

/** Takes connections and says nothing, as a stopped process does; resolves to its address. */
async function startSilentServer(): Promise<string> {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    silent.closeAllConnections();
    silent.close();
  });
  return `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
}

describe('the address of an OpenSearch index', () => {
  test('has its name and password sent as a header, and nowhere else', async () => {
    const fake = await startFakeOpenSearch();
    cleanUps.push(() => fake.stop());
    const address = parseOpenSearch(fake.url.replace('//', '//reader:s%40cret@') + '/pages');
    await new OpenSearchEngine(address).stats();
    const authorization = `Basic ${Buffer.from('reader:s@cret').toString('base64')}`;
    expect(new Set(fake.calls.map((call) => call.authorization))).toEqual(new Set([authorization]));
    const client = new OpenSearchClient(address);
    const failed = client.call('GET', '/pages/_unknown', { timeoutMs: 5_000 });
    await expect(failed).rejects.toThrow(/^GET \/pages\/_unknown answered 404: (?!.*cret)/u);
  });

  test.each([
    'pages',
    'ftp://host/pages',
    'http://u:secret@host',
    'http://host/_all',
    'http://h/a/b',
  ])('is refused where it is not one, without its password: %s', (text) => {
    expect(() => parseOpenSearch(text)).toThrow(/^an OpenSearch address (?!.*secret)/u);
  });
});

test('a search goes to another node of the cluster where one is frozen, and where one is gone', async () => {
  const fake = await startFakeOpenSearch();
  cleanUps.push(() => fake.stop());
  const silent = await startSilentServer();
  const gone = await startFakeOpenSearch();
  await gone.stop();
  const origins = [silent, gone.url, fake.url].join(',');
  const address = parseOpenSearch(`${origins}/pages`);
  await openSearchSink(parseOpenSearch(`${fake.url}/pages`), ONE_SHARD).replace(
    stream([page(1, 'red')]),
  );
  const engine = new OpenSearchEngine(address);
  for (let n = 0; n < 6; n++) expect(await found(engine, 'red')).toEqual(['1']);
  expect(await engine.stats()).toMatchObject({ pages: 1 });
});

test('a search that OpenSearch does not answer in time fails instead of finding nothing', async () => {
  const engine = new OpenSearchEngine(parseOpenSearch(`${await startSilentServer()}/pages`));
  const request = { query: 'red', maxResults: 1, maxDescriptionLength: 1000 };
  await expect(engine.search(request, { ...LIMITS, deadlineMs: 50 })).rejects.toThrow(
    UnavailableError,
  );
});
