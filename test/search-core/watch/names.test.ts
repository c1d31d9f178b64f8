import { describe, expect, test } from '@jest/globals';
import { blocklistOf } from '../../../search-core/ingest/blocked/blocklist.js';
import { matchesPattern, parsePattern } from '../../../search-core/ingest/blocked/pattern.js';
import { parseSitemap } from '../../../search-core/ingest/crawl/sitemap.js';
import { parseFeed } from '../../../search-core/ingest/watch/feed.js';
import { parseSources } from '../../../search-core/ingest/watch/sources.js';

const matches = (name: string, url: string): boolean | undefined => {
  const pattern = parsePattern(name);
  return pattern && matchesPattern(url, pattern);
};

describe('names of pages', () => {
  test.each([
    ['https://a.example/x', 'https://a.example/x', true],
    ['https://a.example/x', 'https://a.example/x?y=1', false],
    ['https://A.example/x#top', 'https://a.example/x', true],
    ['a.example', 'http://a.example/any?thing', true],
    ['A.Example', 'https://a.example:8443/', true],
    ['a.example', 'https://b.a.example/', false],
    ['*.a.example', 'https://a.example/', true],
    ['*.a.example', 'https://c.b.a.example/', true],
    ['*.a.example', 'https://evila.example/', false],
    ['a.example/private/*', 'http://a.example/private/1', true],
    ['a.example/private/*', 'https://a.example/public/private/', false],
    ['a.example/page', 'http://a.example/page', true],
    ['a.example/page', 'http://a.example/page/2', false],
    ['https://*.example/*.pdf', 'https://a.example/x/y.pdf', true],
    ['https://*.example/*.pdf', 'http://a.example/x.pdf', false],
    ['*/wp-admin/*', 'https://a.example/blog/wp-admin/x', true],
    ['127.0.0.1:8080', 'http://127.0.0.1:8080/x', true],
    ['127.0.0.1:8080', 'http://127.0.0.1:8081/x', false],
  ])('%s and %s: %s', (name, url, expected) => {
    expect(matches(name, url)).toBe(expected);
    expect(blocklistOf([`${name} # why`]).blocks(url)).toBe(expected);
  });

  test.each([
    '',
    '*',
    '*.*',
    '**/*',
    'a b',
    'http://',
    'https://u:p@a.example/',
    '*.a/b c'.repeat(9),
  ])('nothing is named by "%s"', (name) => {
    expect(parsePattern(name)).toBeUndefined();
  });

  test('a name with many stars costs no more than its length', () => {
    const pattern = parsePattern('*/a*a*a*a*a*a*a*a*b');
    const url = `https://x.example/${'a'.repeat(2_000)}`;
    expect(pattern && matchesPattern(url, pattern)).toBe(false);
  });

  test('a line of the blocklist that is no name is reported and blocks nothing', () => {
    const list = blocklistOf(['# a comment', '', '  a.example  # why', '*']);
    expect(list).toMatchObject({ size: 1, unread: ['*'] });
    expect(list.blocks('https://b.example/')).toBe(false);
  });
});

describe('lists of pages', () => {
  test('RSS, RDF and Atom name their items, with dates where they have them', () => {
    const rss = `<rss><channel><link>https://a.example/</link>
      <item><title>x</title><link> https://a.example/1?a=1&amp;b=2 </link><pubDate>Tue, 03 Jun 2025 09:39:21 GMT</pubDate></item>
      <item><guid isPermaLink="true">https://a.example/2</guid></item>
      <item><guid isPermaLink="false">tag:1</guid></item>
      <item><link><![CDATA[https://a.example/3]]></link><dc:date>2025-06-03T09:39:21Z</dc:date></item>
    </channel></rss>`;
    expect(parseFeed(rss)).toEqual([
      { url: 'https://a.example/1?a=1&b=2', changedSeconds: 1748943561 },
      { url: 'https://a.example/2', changedSeconds: undefined },
      { url: 'https://a.example/3', changedSeconds: 1748943561 },
    ]);
    const atom = `<feed><link href="/"/><entry><link rel="edit" href="/e"/>
      <link rel='alternate' type="text/html" href='/4'/><updated>2025-06-03T09:39:21Z</updated></entry></feed>`;
    expect(parseFeed(atom)).toEqual([{ url: '/4', changedSeconds: 1748943561 }]);
    expect(parseFeed('<html><p>no feed</p></html>')).toEqual([]);
  });

  test('a feed of nothing but starts is read in a moment', () => {
    expect(parseFeed('<item><link '.repeat(400_000))).toEqual([]);
    expect(parseFeed(`<item>${'<link>'.repeat(200_000)}`)).toEqual([]);
  });

  test('sitemaps name pages with the date of their last change', () => {
    const text = `<urlset><url><loc>https://a.example/1</loc><lastmod>2025-06-03</lastmod>
      <image:image><image:loc>https://a.example/x.png</image:loc></image:image></url>
      <url><lastmod>nonsense</lastmod><loc><![CDATA[https://a.example/2]]></loc></url></urlset>`;
    expect(parseSitemap(text)).toEqual({
      kind: 'pages',
      listed: [
        { url: 'https://a.example/1', changedSeconds: 1748908800 },
        { url: 'https://a.example/2', changedSeconds: undefined },
      ],
    });
  });
});

describe('the file of sources', () => {
  test('says what is wrong, where', () => {
    expect(() => parseSources('{"sources": [{"kind": "site"}]}', 'x.json')).toThrow(
      /x\.json is not understood:\n {2}sources\.0\.url: /u,
    );
    expect(() => parseSources('{', 'x.json')).toThrow('x.json is not JSON');
    expect(() =>
      parseSources('{"sources": [{"kind": "site", "url": "ftp://x"}]}', 'x.json'),
    ).toThrow('sources.0.url: is not a web address');
    const site = { kind: 'site', url: 'https://a.example/' };
    expect(() => parseSources(JSON.stringify({ sources: [site, site] }), 'x')).toThrow('twice');
  });

  test('a host has its own pause and budget, or those of all hosts', () => {
    const { politenessOf } = parseSources(
      JSON.stringify({
        sources: [],
        everyHost: { delaySeconds: 3 },
        hosts: { 'a.example': { fetchesPerDayMax: 7 } },
      }),
      'x',
    );
    expect(politenessOf('a.example')).toEqual({ delayMs: 3_000, fetchesPerDayMax: 7 });
    expect(politenessOf('constructor')).toEqual({ delayMs: 3_000, fetchesPerDayMax: 50_000 });
  });
});
