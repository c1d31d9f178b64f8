import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isPublicAddress } from '../../../network/public-address.js';
import { indexCrawl } from '../../../search-core/ingest/crawl/crawl.js';
import type { CrawlOptions, CrawlPorts } from '../../../search-core/ingest/crawl/state.js';
import type { Report } from '../../../search-core/ingest/report.js';
import { memorySink } from '../../support/memory-sink.js';
import { pdfFile } from '../../support/pdf-maker.js';
import { htmlPage, prose } from '../../support/prose.js';
import { type Site, startSite } from '../../support/site.js';

let directory: string;
let site: Site;
let sink: ReturnType<typeof memorySink>;
let stop: AbortController;
let options: CrawlOptions;
let ports: CrawlPorts;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'crawl-'));
  site = await startSite();
  sink = memorySink();
  stop = new AbortController();
  options = {
    index: join(directory, 'index'),
    isAddition: true,
    depthMax: 5,
    fetchesMax: 200,
    delayMs: 0,
    timeoutMs: 1_500,
    bytesMax: 300_000,
  };
  ports = {
    sink,
    progress: { show: () => undefined, end: () => undefined },
    signal: stop.signal,
    nowMs: () => performance.now(),
    sleep: (ms) => sleep(ms),
    resolve: (host) => Promise.resolve(NAMES[host] ?? []),
    // The site itself is on loopback; everything else follows the real rule.
    isAllowedAddress: (address) => address === '127.0.0.1' || isPublicAddress(address),
  };
});
afterEach(async () => {
  await site.close();
  await rm(directory, { recursive: true, force: true });
});

/** What the test's name server says. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'inside.example': ['10.0.0.7'],
  'both.example': ['127.0.0.1', '192.168.1.1'],
};

/** Every page's menu links to a page that is not there. */
const NAV = { http_status: 1 };

const crawl = (more: Partial<CrawlOptions> = {}): Promise<Report> =>
  indexCrawl([`${site.origin}/`], { ...options, ...more }, ports);
const links = (...paths: string[]): string =>
  paths.map((path) => `<p><a href="${path}">See the note</a></p>`).join('');
const home = (...paths: string[]): void => site.page('/', htmlPage(0, { body: links(...paths) }));
const paths = (): string[] =>
  sink
    .pages()
    .map(({ url }) => url.replace(site.origin, ''))
    .sort();
const reasons = (report: Report): Record<string, number> =>
  Object.fromEntries(report.drops.map(({ reason, count }) => [reason, count]));
const respond =
  (status: number, headers: Record<string, string>, body: string | Buffer = '') =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(body);
const redirect = (to: string) => respond(302, { location: to });
const HTML = { 'content-type': 'text/html' };

describe('the crawler', () => {
  test('follows links within the site and indexes each page once', async () => {
    home('/a', '/b#part', '/a?utm_source=mail', 'https://elsewhere.example/', 'mailto:x@y.example');
    site.page('/a', htmlPage(1, { body: links('/b', '/') }));
    site.page('/b', htmlPage(2));
    const report = await crawl();
    expect(paths()).toEqual(['/', '/a', '/b']);
    expect(report).toMatchObject({ command: 'crawl', kept: 3, indexPages: 3 });
    expect(site.requests.filter((path) => path === '/b')).toHaveLength(1);
  });

  test('obeys robots.txt, its sitemaps, its delay, and robots tags', async () => {
    site.page(
      '/robots.txt',
      respond(
        200,
        { 'content-type': 'text/plain' },
        `User-agent: *\nDisallow: /\n\nUser-agent: SearchCore\nCrawl-delay: 0.2\nDisallow: /secret\nAllow: /secret/open\nSitemap: ${site.origin}/map.xml.gz\n`,
      ),
    );
    site.page(
      '/map.xml.gz',
      respond(
        200,
        {},
        gzipSync(
          `<?xml version="1.0"?><urlset><url><loc>${site.origin}/mapped?a=1&amp;b=2</loc></url></urlset>`,
        ),
      ),
    );
    home('/secret/x', '/secret/open', '/noindex', '/header');
    site.page('/secret/open', htmlPage(1));
    site.page('/mapped?a=1&b=2', htmlPage(2));
    site.page(
      '/noindex',
      htmlPage(3, {
        head: '<meta name="robots" content="noindex,nofollow">',
        body: links('/unlinked'),
      }),
    );
    site.page('/header', respond(200, { ...HTML, 'x-robots-tag': 'none' }, htmlPage(4)));
    const report = await crawl();
    expect(paths()).toEqual(['/', '/mapped?a=1&b=2', '/secret/open']);
    expect(site.requests).not.toContain('/secret/x');
    expect(site.requests).not.toContain('/unlinked');
    expect(reasons(report)).toMatchObject({ robots_disallowed: 1, noindex: 2 });
    const times = site.timesMs.slice(2);
    for (let at = 1; at < times.length; at += 1) {
      expect((times[at] ?? 0) - (times[at - 1] ?? 0)).toBeGreaterThan(100);
    }
  });

  test('fetches nothing where robots.txt cannot be had', async () => {
    site.page('/robots.txt', respond(500, {}));
    home();
    await expect(crawl()).rejects.toThrow('robots_unavailable');
    expect(site.requests).toEqual(['/robots.txt']);
  });

  test('survives loops and endless sites within its limits', async () => {
    home('/calendar/1', '/search?q=0', '/a/b', '/loop', '/loop1');
    site.page('/loop', redirect('/loop'));
    site.page('/loop1', redirect('/loop2'));
    site.page('/loop2', redirect('/loop1'));
    let made = 100;
    site.otherwise((request, response) => {
      const path = request.url ?? '';
      if (path === '/robots.txt' || path === '/sitemap.xml') {
        response.writeHead(404).end();
        return;
      }
      made += 1;
      const next = path.startsWith('/calendar/')
        ? [`/calendar/${made}`]
        : path.startsWith('/search')
          ? Array.from({ length: 20 }, (_, at) => `/search?q=${made}-${at}`)
          : [`${path}/a/b`];
      response.writeHead(200, HTML).end(htmlPage(made, { body: links(...next) }));
    });
    const report = await crawl({ depthMax: 8 });
    expect(reasons(report)).toMatchObject({ redirect: 3 });
    expect(reasons(report).path_trap).toBeGreaterThan(0);
    expect(reasons(report).too_deep).toBeGreaterThan(0);
    expect(reasons(report).query_trap).toBeGreaterThan(0);
    expect(site.requests.length).toBeLessThanOrEqual(202);
  });

  test('gives up on slow, huge, broken and compressed-to-explode pages, and keeps the others', async () => {
    home('/slow', '/drip', '/huge', '/bomb', '/broken', '/reset', '/pdf', '/ok');
    site.page('/slow', () => undefined);
    site.page('/drip', (_request, response) => {
      response.writeHead(200, HTML);
      const timer = setInterval(() => response.write('<p>word'), 100);
      response.on('close', () => clearInterval(timer));
    });
    site.page('/huge', respond(200, HTML, htmlPage(1) + 'x'.repeat(400_000)));
    site.page(
      '/bomb',
      respond(200, { ...HTML, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(50_000_000))),
    );
    site.page('/broken', respond(200, { ...HTML, 'content-encoding': 'gzip' }, 'this is not gzip'));
    site.page('/reset', (request) => void request.socket.destroy());
    site.page('/pdf', respond(200, { 'content-type': 'application/pdf' }, '%PDF'));
    site.page('/ok', htmlPage(2));
    const clock = { ms: 0 };
    // Pauses pass at once; what the network takes is real.
    ports = {
      ...ports,
      nowMs: () => performance.now() + clock.ms,
      sleep: async (ms) => {
        clock.ms += ms;
        await sleep(1);
      },
    };
    const report = await crawl();
    expect(paths()).toEqual(['/', '/ok']);
    expect(reasons(report)).toEqual({
      ...NAV,
      timeout: 2,
      too_large: 2,
      damaged_content: 1,
      unreachable: 1,
      extraction_failed: 1,
    });
  });

  test('reads PDFs as pages, with their titles and whole words', async () => {
    home('/manual.pdf', '/untitled.pdf');
    const lines = prose(3).match(/.{1,60}(?: |$)/gu) ?? [];
    const pdf = (title: string): ReturnType<typeof respond> =>
      respond(
        200,
        { 'content-type': 'application/pdf' },
        pdfFile(title, [`The lamp ${title}`, '', ...lines, 'It is never ex-', 'tinguished.']),
      );
    site.page('/manual.pdf', pdf('Manual of the lamp'));
    site.page('/untitled.pdf', pdf('untitled.doc'));
    await crawl();
    const found = sink.pages().filter(({ url }) => url.endsWith('.pdf'));
    expect(found.map(({ title }) => title).sort()).toEqual([
      'Manual of the lamp',
      'The lamp untitled.doc',
    ]);
    expect(found[0]?.text).toContain(`\n\n${prose(3)} It is never extinguished.`);
  });

  test('reads pages in their own charset', async () => {
    home('/latin', '/declared', '/wrong', '/utf16');
    const page = (seed: number, title: string, head = ''): string =>
      htmlPage(seed, { title, head });
    site.page(
      '/latin',
      respond(
        200,
        { 'content-type': 'text/html; charset=iso-8859-1' },
        Buffer.from(page(1, 'Café one'), 'latin1'),
      ),
    );
    site.page(
      '/declared',
      respond(200, HTML, Buffer.from(page(2, 'Café two', '<meta charset=windows-1252>'), 'latin1')),
    );
    site.page(
      '/wrong',
      respond(200, { 'content-type': 'text/html; charset=klingon' }, page(3, 'Café three')),
    );
    site.page(
      '/utf16',
      respond(200, HTML, Buffer.from(`\uFEFF${page(4, 'Café four')}`, 'utf16le')),
    );
    await crawl();
    expect(
      sink
        .pages()
        .map(({ title }) => title)
        .sort(),
    ).toEqual(['Café four', 'Café one', 'Café three', 'Café two', 'Report 0 of the harbour']);
  });

  test('never connects to a private address: by name, by number, or by a redirect', async () => {
    home('/r1', '/r2', '/r3', '/r4', '/r5');
    const targets = [
      'http://inside.example/',
      'http://both.example/',
      'http://[::1]/',
      'http://169.254.169.254/latest',
      'http://2130706434/',
    ];
    targets.forEach((target, at) => site.page(`/r${at + 1}`, redirect(target)));
    const report = await indexCrawl([`${site.origin}/`, ...targets], options, ports);
    expect(paths()).toEqual(['/']);
    expect(reasons(report)).toMatchObject({ private_address: 5 });
  });

  test('asks a redirecting start address for its new home, and believes canonical links of the site', async () => {
    site.page('/', redirect('/welcome'));
    site.page('/welcome', htmlPage(1, { body: links('/print?of=1') }));
    site.page('/print?of=1', htmlPage(2, { head: '<link rel="canonical" href="/article">' }));
    await crawl();
    expect(paths()).toEqual(['/article', '/welcome']);
  });

  test('drops pages that say the same, and what is below the floor', async () => {
    home('/one', '/copy', '/empty', '/deutsch');
    site.page('/one', htmlPage(1));
    site.page('/copy', htmlPage(1));
    site.page('/empty', '<title>Nothing</title><p>Soon.</p>');
    site.page(
      '/deutsch',
      `<title>Brücke</title><p>${'Der Müller beschreibt die Brücke am Fluss, bevor der Markt am Morgen öffnet. '.repeat(9)}</p>`,
    );
    const report = await crawl();
    expect(reasons(report)).toEqual({ ...NAV, duplicate_text: 1, too_short: 1, not_english: 1 });
  });
});

describe('a crawl that is run again', () => {
  test('asks only for what has changed, and removes what is gone', async () => {
    home('/same', '/new', '/gone', '/moved', '/emptied', '/forbidden');
    let answers = 0;
    site.page('/same', (request, response) => {
      answers += 1;
      const isKnown = request.headers['if-none-match'] === '"v1"';
      if (isKnown) response.writeHead(304).end();
      else
        response
          .writeHead(200, { ...HTML, etag: '"v1"' })
          .end(htmlPage(1, { body: links('/below') }));
    });
    site.page('/below', htmlPage(5));
    site.page('/new', htmlPage(2));
    for (const [at, name] of ['/gone', '/moved', '/emptied', '/forbidden'].entries()) {
      site.page(name, htmlPage(10 + at));
    }
    await crawl();
    expect(paths()).toHaveLength(8);
    site.page('/new', htmlPage(4));
    site.page('/gone', respond(410, {}));
    site.page('/moved', redirect('/new'));
    site.page('/emptied', htmlPage(1, { head: '<meta name="robots" content="noindex">' }));
    site.page('/robots.txt', respond(200, {}, 'User-agent: *\nDisallow: /forbidden'));
    const report = await crawl();
    expect(answers).toBe(2);
    expect(reasons(report)).toEqual({
      unchanged: 1,
      http_status: 2,
      redirect: 1,
      noindex: 1,
      robots_disallowed: 1,
    });
    expect(paths()).toEqual(['/', '/below', '/new', '/same']);
  });

  test('after a stop fetches only what was left', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `/page-${at}`);
    home(...names);
    names.forEach((name, at) => site.page(name, htmlPage(at + 1)));
    let shown = 0;
    const show = (): void => {
      shown += 1;
      if (shown === 12) stop.abort();
    };
    ports = { ...ports, progress: { show, end: () => undefined } };
    await expect(crawl()).rejects.toThrow('goes on from here');
    expect(paths()).toEqual([]);
    ports = { ...ports, signal: new AbortController().signal };
    const report = await crawl();
    expect(report.kept).toBe(31);
    for (const name of names) {
      expect(site.requests.filter((path) => path === name)).toHaveLength(1);
    }
  });
});
