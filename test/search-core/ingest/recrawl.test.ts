import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { indexCrawl } from '../../../search-core/ingest/crawl/crawl.js';
import type { CrawlOptions, CrawlPorts } from '../../../search-core/ingest/crawl/state.js';
import { engineSink } from '../../../search-core/ingest/engine-sink.js';
import { type Report, reportText } from '../../../search-core/ingest/report.js';
import type { Page } from '../../../search-core/page.js';
import { htmlPage, prose } from '../../support/prose.js';
import { type Site, startSite } from '../../support/site.js';

let directory: string;
let site: Site;
/** How often each path was answered with a whole page. */
let answered: Map<string, number>;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recrawl-'));
  site = await startSite();
  answered = new Map();
});
afterEach(async () => {
  await site.close();
  await rm(directory, { recursive: true, force: true });
});

const indexAt = (name: string): string => join(directory, name);

function crawl(index: string, more: Partial<CrawlOptions> = {}): Promise<Report> {
  const options: CrawlOptions = {
    index,
    isAddition: true,
    depthMax: 5,
    fetchesMax: 200,
    delayMs: 0,
    timeoutMs: 1_500,
    bytesMax: 300_000,
    ...more,
  };
  const ports: CrawlPorts = {
    sink: engineSink(index),
    progress: { show: () => undefined, end: () => undefined },
    signal: new AbortController().signal,
    nowMs: () => performance.now(),
    sleep: (ms) => sleep(ms),
    resolve: () => Promise.resolve([]),
    isAllowedAddress: () => true,
  };
  return indexCrawl([`${site.origin}/`], options, ports);
}

/** A page that answers 304 to whoever has it. */
function cached(path: string, html: string): void {
  site.page(path, (request, response: ServerResponse) => {
    const etag = `"${path}"`;
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304).end();
      return;
    }
    answered.set(path, (answered.get(path) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'text/html', etag }).end(html);
  });
}

/** A start page that links to `count` pages, all with an ETag. */
function makeSite(count: number): string[] {
  const names = Array.from({ length: count }, (_, at) => `/page-${at}`);
  const body = names.map((name) => `<p><a href="${name}">See the note</a></p>`).join('');
  cached('/', htmlPage(0, { body }));
  names.forEach((name, at) => cached(name, htmlPage(at + 1)));
  return names;
}

// eslint-disable-next-line @typescript-eslint/require-await -- a stream of one page
async function* onePage(): AsyncIterable<Page> {
  yield { url: 'http://other.example/', title: 'Another page', text: prose(99) };
}

const reasons = (report: Report): Record<string, number> =>
  Object.fromEntries(report.drops.map(({ reason, count }) => [reason, count]));

describe('a page that its server calls unchanged', () => {
  test('is fetched anew where another load has replaced the index', async () => {
    makeSite(4);
    const index = indexAt('index');
    expect(await crawl(index)).toMatchObject({ kept: 5, indexPages: 5 });
    await engineSink(index).replace(onePage());
    expect(await crawl(index)).toMatchObject({ kept: 5, indexPages: 6 });
    expect(answered.get('/page-3')).toBe(2);
  });

  test('is fetched anew where the index was deleted', async () => {
    makeSite(4);
    const index = indexAt('index');
    await crawl(index);
    await rm(index, { recursive: true });
    expect(await crawl(index)).toMatchObject({ kept: 5, indexPages: 5 });
  });

  test('is fetched anew for a second index in the same folder', async () => {
    makeSite(4);
    await crawl(indexAt('index'));
    expect(await crawl(indexAt('second'))).toMatchObject({ kept: 5, indexPages: 5 });
    const again = await crawl(indexAt('index'));
    expect(reasons(again)).toMatchObject({ unchanged: 5 });
    expect(again.indexPages).toBe(5);
  });

  test('is not fetched again while the index holds it', async () => {
    makeSite(4);
    const index = indexAt('index');
    await crawl(index);
    expect(reasons(await crawl(index))).toMatchObject({ unchanged: 5 });
    expect(answered.get('/page-3')).toBe(1);
  });

  test('is said to be missing, and fetched next time, when it left the index meanwhile', async () => {
    const names = makeSite(4);
    const index = indexAt('index');
    await crawl(index);
    let isReplaced = false;
    site.page('/page-3', (_request, response) => {
      void (async () => {
        if (!isReplaced) await engineSink(index).replace(onePage());
        isReplaced = true;
        response.writeHead(304).end();
      })();
    });
    const during = await crawl(index);
    expect(reasons(during).left_index).toBeGreaterThanOrEqual(1);
    names.forEach((name, at) => cached(name, htmlPage(at + 1)));
    const after = await crawl(index);
    expect(after.indexPages).toBe(6);
  });

  test('is fetched anew when the page that it copied is gone', async () => {
    cached(
      '/',
      htmlPage(0, { body: '<p><a href="/one">One</a></p><p><a href="/copy">Copy</a></p>' }),
    );
    cached('/one', htmlPage(1));
    cached('/copy', htmlPage(1));
    const index = indexAt('index');
    expect(reasons(await crawl(index))).toMatchObject({ duplicate_text: 1 });
    site.page('/one', (_request, response) => void response.writeHead(410).end());
    await crawl(index);
    expect(await crawl(index)).toMatchObject({ indexPages: 2 });
  });
});

describe('--max-pages', () => {
  test('goes on where the run before stopped, until the whole site is in', async () => {
    const names = makeSite(40);
    const index = indexAt('index');
    const held: number[] = [];
    const left: (number | undefined)[] = [];
    for (let run = 0; run < 3; run += 1) {
      const report = await crawl(index, { fetchesMax: 20 });
      held.push(report.indexPages);
      left.push(report.waiting);
    }
    // Each run asks for 20 addresses; the first one's 20 include the sitemap and a menu's dead link.
    expect(held[2]).toBe(41);
    expect(new Set(held).size).toBe(3);
    expect(left[2]).toBeUndefined();
    for (const name of names) expect(answered.get(name)).toBe(1);
  });

  test('says how many addresses wait, and what to do', async () => {
    makeSite(40);
    const report = await crawl(indexAt('index'), { fetchesMax: 20 });
    expect(report.waiting).toBeGreaterThan(15);
    expect(report.drops.map(({ reason }) => reason)).not.toContain('fetch_limit');
    expect(reportText(report)).toMatch(/\d+ addresses are left: run the same command again/u);
  });
});
