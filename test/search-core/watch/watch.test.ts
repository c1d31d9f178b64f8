import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { addToBlocklist, blocklistFile } from '../../../search-core/ingest/blocked/blocklist.js';
import { takeDown } from '../../../search-core/ingest/blocked/remove.js';
import { createExtractPool } from '../../../search-core/ingest/html/pool.js';
import { clusterSink } from '../../../search-core/ingest/watch/cluster-sink.js';
import { htmlPage } from '../../support/prose.js';
import { type Site, startSite } from '../../support/site.js';
import { removeTemporaries } from '../../support/temporary.js';
import { type Watching, watching } from '../../support/watching.js';

const DAY = 24 * 3_600;
removeTemporaries();

const pool = createExtractPool();
afterAll(() => pool.close());
let site: Site;
let watch: Watching;
beforeEach(async () => {
  site = await startSite();
  watch = watching(pool);
});
afterEach(() => site.close());

const links = (...paths: string[]): string =>
  paths.map((path) => `<p><a href="${path}">See the note</a></p>`).join('');
const paths = (): string[] =>
  watch.sink
    .pages()
    .map(({ url }) => url.replace(site.origin, ''))
    .sort();
const everyHost = { delaySeconds: 0 };
const siteSource = (more: object = {}): object => ({
  sources: [{ kind: 'site', url: `${site.origin}/`, ...more }],
  everyHost,
});
const xml = (path: string, body: string): void =>
  site.page(path, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' }).end(body);
  });
/** A page with an entity tag: a conditional request for it is answered with 304. */
function tagged(path: string, seed: number): { whole: number } {
  const count = { whole: 0 };
  site.page(path, (request, response) => {
    const etag = `"${seed}"`;
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304).end();
      return;
    }
    count.whole += 1;
    response.writeHead(200, { 'content-type': 'text/html', etag }).end(htmlPage(seed));
  });
  return count;
}

describe('a watch', () => {
  test('indexes what a site links to, what a sitemap lists and what a feed names', async () => {
    site.page('/', htmlPage(0, { body: links('/linked') }));
    site.page('/linked', htmlPage(1));
    site.page('/listed', htmlPage(2, { body: links('/unlisted') }));
    site.page('/unlisted', htmlPage(3));
    site.page('/news', htmlPage(4));
    xml('/map.xml', `<urlset><url><loc>${site.origin}/listed</loc></url></urlset>`);
    xml('/feed', '<rss><channel><item><link>/news</link></item></channel></rss>');
    watch.sources({
      sources: [
        { kind: 'site', url: `${site.origin}/` },
        { kind: 'sitemap', url: `${site.origin}/map.xml` },
        { kind: 'feed', url: `${site.origin}/feed` },
      ],
      everyHost,
    });
    await watch.once();
    expect(paths()).toEqual(['/', '/linked', '/listed', '/news']);
  });

  test('asks again for what is due only, conditionally, and takes what has changed', async () => {
    site.page('/', htmlPage(0, { body: links('/same', '/new') }));
    const same = tagged('/same', 1);
    site.page('/new', htmlPage(2));
    watch.sources(siteSource());
    await watch.once();
    const asked = site.requests.length;
    await watch.once();
    expect(site.requests).toHaveLength(asked);
    site.page('/new', htmlPage(3));
    watch.pass(2 * DAY);
    await watch.once();
    expect(site.requests.length).toBeGreaterThan(asked);
    expect(same.whole).toBe(1);
    const text = watch.sink.pages().find(({ url }) => url.endsWith('/new'))?.text;
    expect(htmlPage(3)).toContain(text?.split('\n').at(-1)?.slice(0, 40));
  });

  test('removes pages that are gone, moved, or not to be indexed any more', async () => {
    const gone = ['/gone', '/moved', '/hidden', '/forbidden'];
    site.page('/', htmlPage(0, { body: links(...gone, '/stays') }));
    site.page('/stays', htmlPage(9));
    gone.forEach((path, at) => site.page(path, htmlPage(at + 1)));
    watch.sources(siteSource());
    await watch.once();
    expect(paths()).toHaveLength(6);
    site.page('/gone', (_request, response) => response.writeHead(410).end());
    site.page('/moved', (_request, response) =>
      response.writeHead(301, { location: '/there' }).end(),
    );
    site.page('/there', htmlPage(2));
    site.page('/hidden', htmlPage(3, { head: '<meta name="robots" content="noindex">' }));
    site.page('/robots.txt', (_request, response) =>
      response.writeHead(200).end('User-agent: *\nDisallow: /forbidden'),
    );
    watch.pass(2 * DAY);
    await watch.once();
    expect(paths()).toEqual(['/', '/stays', '/there']);
  });

  test('keeps a page whose server fails, and tries it again', async () => {
    site.page('/', htmlPage(0));
    watch.sources(siteSource());
    await watch.once();
    site.page('/', (_request, response) => response.writeHead(500).end());
    watch.pass(2 * DAY);
    await watch.once();
    expect(paths()).toEqual(['/']);
    site.page('/', htmlPage(1));
    watch.pass(60);
    await watch.once();
    expect(htmlPage(1)).toContain(watch.sink.pages()[0]?.title);
  });

  test('stops without waiting for a server that hangs, and asks it again in the next run', async () => {
    const stop = new AbortController();
    site.page('/', () => stop.abort());
    watch.sources(siteSource());
    await watch.once(() => clusterSink(watch.sink), stop.signal);
    expect(site.requests.at(-1)).toBe('/');
    site.page('/', htmlPage(0));
    await watch.once();
    expect(paths()).toEqual(['/']);
  });

  test('looks earlier at a page that a sitemap calls changed', async () => {
    const map = (date: string): void =>
      xml(
        '/map.xml',
        `<urlset><url><loc>${site.origin}/a</loc><lastmod>${date}</lastmod></url></urlset>`,
      );
    const a = (): number => site.requests.filter((path) => path === '/a').length;
    map('2025-12-01');
    tagged('/a', 1);
    watch.sources({
      sources: [{ kind: 'sitemap', url: `${site.origin}/map.xml` }],
      everyHost,
    });
    // Looks that find nothing new make the next ones rarer, of the list as of the page.
    for (let look = 0; look < 5; look += 1) {
      await watch.once();
      map(`2025-12-0${look + 2}`);
      watch.pass(1.5 * DAY);
    }
    const before = a();
    await watch.once();
    expect(a()).toBe(before);
    map('2026-01-09T06:00:00Z');
    watch.pass(1.5 * DAY);
    await watch.once();
    expect(a()).toBe(before + 1);
  });

  test('indexes the twin of a page when that page goes', async () => {
    site.page('/', htmlPage(0, { body: links('/one', '/two') }));
    site.page('/one', htmlPage(1));
    site.page('/two', htmlPage(1));
    watch.sources(siteSource());
    await watch.once();
    const [first] = paths().filter((path) => path !== '/');
    expect(paths()).toHaveLength(2);
    site.page(first ?? '', (_request, response) => response.writeHead(404).end());
    watch.pass(2 * DAY);
    await watch.once();
    expect(paths()).toEqual(['/', first === '/one' ? '/two' : '/one']);
  });

  test('fetches again what left the index by another hand', async () => {
    site.page('/', htmlPage(0));
    const page = tagged('/', 1);
    watch.sources(siteSource());
    await watch.once();
    await watch.sink.update(nothing(), [`${site.origin}/`]);
    expect(paths()).toEqual([]);
    await watch.once(() => ({
      ...clusterSink(watch.sink),
      isForeign: () => Promise.resolve(true),
    }));
    expect(paths()).toEqual(['/']);
    expect(page.whole).toBe(2);
  });
});

describe('limits of a watch', () => {
  test('a source takes no more addresses, hosts or links than it may', async () => {
    const other = await startSite();
    other.page('/', htmlPage(50));
    site.page('/', htmlPage(0, { body: links('/1', '/a/a/a/a', `${other.origin}/`) }));
    site.otherwise((request, response) => {
      const number = Number(request.url?.slice(1));
      if (!(number > 0)) response.writeHead(404).end();
      else {
        const body = links(`/${number + 1}`);
        response.writeHead(200, { 'content-type': 'text/html' }).end(htmlPage(number, { body }));
      }
    });
    watch.sources(siteSource({ depth: 4 }));
    await watch.once();
    expect(paths()).toEqual(['/', '/1', '/2', '/3', '/4']);
    watch.sources(siteSource({ furtherHosts: 1 }));
    watch.pass(2 * DAY);
    await watch.once();
    expect(paths()).toContain(`${other.origin}/`);
    await other.close();
  });

  test('a host is asked no more often in a day than it may be', async () => {
    const names = Array.from({ length: 9 }, (_, at) => `/${at + 1}`);
    site.page('/', htmlPage(0, { body: links(...names) }));
    names.forEach((name, at) => site.page(name, htmlPage(at + 1)));
    watch.sources({ ...siteSource(), everyHost: { ...everyHost, fetchesPerDayMax: 4 } });
    const asked = (): number => site.requests.filter((path) => path !== '/robots.txt').length;
    await watch.once();
    expect(asked()).toBe(4);
    await watch.once();
    expect(asked()).toBe(4);
    watch.pass(DAY);
    await watch.once();
    expect(asked()).toBe(8);
  });
});

describe('what is taken down', () => {
  test('leaves at once, and no look brings it back', async () => {
    site.page('/', htmlPage(0, { body: links('/private/a', '/private/b', '/open') }));
    ['/private/a', '/private/b', '/open'].forEach((path, at) => site.page(path, htmlPage(at + 1)));
    watch.sources(siteSource());
    await watch.once();
    expect(paths()).toHaveLength(4);
    const pattern = `${new URL(site.origin).host}/private/*`;
    const list = blocklistFile(watch.index);
    const { removed } = await takeDown(watch.sink, list, [pattern], 'asked by its owner');
    expect(removed).toBe(2);
    const asked = site.requests.filter((path) => path.startsWith('/private')).length;
    watch.pass(40 * DAY);
    await watch.once();
    expect(paths()).toEqual(['/', '/open']);
    expect(site.requests.filter((path) => path.startsWith('/private'))).toHaveLength(asked);
  });

  test('leaves also when the operator writes it into the file', async () => {
    site.page('/', htmlPage(0));
    watch.sources(siteSource());
    await watch.once();
    addToBlocklist(blocklistFile(watch.index), [site.origin.replace('http://', '')], 'a test');
    await watch.once();
    expect(paths()).toEqual([]);
  });

  test('does not get in when it was fetched before', async () => {
    site.page('/', htmlPage(0, { body: links('/late') }));
    site.page('/late', (_request, response) => {
      addToBlocklist(blocklistFile(watch.index), [`${site.origin}/late`], 'a test');
      response.writeHead(200, { 'content-type': 'text/html' }).end(htmlPage(1));
    });
    watch.sources(siteSource());
    await watch.once();
    expect(paths()).toEqual(['/']);
  });
});

// eslint-disable-next-line @typescript-eslint/require-await -- an empty stream
async function* nothing(): AsyncIterable<never> {
  yield* [];
}
