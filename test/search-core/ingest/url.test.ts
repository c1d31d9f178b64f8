import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isPublicAddress } from '../../../network/public-address.js';
import { parseRobots } from '../../../search-core/ingest/crawl/robots.js';
import { parseSitemap } from '../../../search-core/ingest/crawl/sitemap.js';
import { canonicalUrl, pageUrl } from '../../../search-core/ingest/url.js';

describe('canonical addresses', () => {
  test.each([
    ['HTTP://Example.COM:80/a/../b?#top', 'http://example.com/b'],
    ['https://example.com:443', 'https://example.com/'],
    ['https://example.com./a', 'https://example.com/a'],
    ['https://example.com/%7euser/%c3%a9', 'https://example.com/~user/%C3%A9'],
    ['https://example.com/a?utm_source=x&b=2&fbclid=3&a=1', 'https://example.com/a?b=2&a=1'],
    ['https://example.com/a?utm_source=x', 'https://example.com/a'],
    ['https://münchen.example/straße', 'https://xn--mnchen-3ya.example/stra%C3%9Fe'],
    ['https://example.com/a|b[1]?q={x}', 'https://example.com/a%7Cb%5B1%5D?q=%7Bx%7D'],
    ['https://example.com/100%', 'https://example.com/100%25'],
  ])('%s becomes %s', (text, canonical) => {
    expect(canonicalUrl(text)).toBe(canonical);
  });

  test('stay the same however often they are asked for', () => {
    // Node 20 compiles `URL.canParse` after some thousand calls, and then it refuses letters such as ü.
    const wrong = Array.from({ length: 20_000 }, () =>
      canonicalUrl('https://münchen.example/'),
    ).filter((url) => url !== 'https://xn--mnchen-3ya.example/');
    expect(wrong).toHaveLength(0);
  });

  test.each([
    'ftp://x.example/',
    'javascript:alert(1)',
    'https://u:p@x.example/',
    '/a',
    '',
    'https://',
    `https://x.example/${'a'.repeat(3_000)}`,
  ])('%p is no page', (text) => {
    expect(canonicalUrl(text)).toBeUndefined();
    expect(pageUrl(text)).toBeUndefined();
  });

  const anything = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `http://x.example/${text}`),
    fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `http://x.example/?${text}`),
    fc.stringMatching(/^[%./?&=a-fA-F0-9#;]{0,40}$/u).map((text) => `https://x.example/${text}`),
  );

  test('are a fixed point: canonical once, canonical for ever, and pure ASCII without a fragment', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const once = canonicalUrl(text);
        if (once === undefined) return;
        expect(canonicalUrl(once)).toBe(once);
        expect(pageUrl(once)).toBe(once);
        expect(once).toMatch(/^https?:\/\/[\u0021-\u007E]+$/u);
        expect(once).not.toMatch(/[#|\\^`{}"<> ]|%(?![0-9A-F]{2})/u);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('addresses of the network', () => {
  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.168.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::a00:1',
    '2001:db8::1',
    '2002:a00:1::',
    '2001::1',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each([
    '1.1.1.1',
    '9.255.255.255',
    '11.0.0.0',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('robots.txt (RFC 9309)', () => {
  const allows = (text: string, path: string): boolean =>
    parseRobots(text, 'searchcore').allows(path);

  test.each([
    ['', '/x', true],
    ['User-agent: *\nDisallow:', '/x', true],
    ['User-agent: *\nDisallow: /', '/x', false],
    ['User-agent: *\nDisallow: /', '/robots.txt', true],
    ['user-AGENT: SearchCore/9\ndisallow: /a # why\n\nUser-agent: *\nDisallow: /', '/b', true],
    ['User-agent: other\nUser-agent: searchcore\nDisallow: /a', '/a', false],
    ['User-agent: searchcore\nDisallow: /a\nUser-agent: searchcore\nDisallow: /b', '/b', false],
    ['User-agent: *\nAllow: /p\nDisallow: /', '/page', true],
    ['User-agent: *\nDisallow: /a\nAllow: /a', '/a', true],
    ['User-agent: *\nAllow: /$\nDisallow: /', '/', true],
    ['User-agent: *\nAllow: /$\nDisallow: /', '/x', false],
    ['User-agent: *\nDisallow: /*.gif$', '/a/b.gif', false],
    ['User-agent: *\nDisallow: /*.gif$', '/a/b.gif?x', true],
    ['User-agent: *\nDisallow: /a*b*c', '/a-b-b-c-d', false],
    ['User-agent: *\nDisallow: /%7Ejoe/%e2%82%ac', '/~joe/%E2%82%AC', false],
    ['User-agent: *\nDisallow: /€', '/%E2%82%AC', false],
    ['Disallow: /\nUser-agent: *\nAllow: /', '/x', true],
    ['\uFEFFUser-agent: *\r\nDisallow: /\r\n', '/x', false],
  ])('%p on %s: %p', (text, path, expected) => {
    expect(allows(text, path)).toBe(expected);
  });

  test('names delays and sitemaps, within limits', () => {
    const robots = parseRobots(
      'Sitemap: https://x.example/m.xml\nUser-agent: *\nCrawl-delay: 9999',
      'searchcore',
    );
    expect(robots).toMatchObject({ delayMs: 60_000, sitemaps: ['https://x.example/m.xml'] });
  });

  test('is read in time, whatever it holds', () => {
    const started = performance.now();
    const text = `User-agent: *\n${`Disallow: ${'*a'.repeat(200)}$\n`.repeat(1_000)}`;
    expect(allows(text, `/${'a'.repeat(2_000)}b`)).toBe(true);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (noise) => {
        expect(typeof allows(`User-agent: *\nDisallow: ${noise}\n${noise}`, '/x')).toBe('boolean');
      }),
    );
    // Backtracking would take longer than anybody waits.
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

test('sitemaps list pages, other sitemaps, or lines of text', () => {
  const listed = (url: string, changedSeconds?: number) => ({ url, changedSeconds });
  expect(
    parseSitemap(
      '<sitemapindex><sitemap><loc> https://x.example/1.xml </loc></sitemap></sitemapindex>',
    ),
  ).toEqual({ kind: 'sitemaps', listed: [listed('https://x.example/1.xml')] });
  expect(
    parseSitemap(
      '<urlset><url><loc>https://x.example/?a=1&amp;b=2</loc>' +
        '<lastmod>1970-01-02</lastmod></url></urlset>',
    ),
  ).toEqual({ kind: 'pages', listed: [listed('https://x.example/?a=1&b=2', 86_400)] });
  expect(parseSitemap('https://x.example/a\nnonsense\nhttps://x.example/b')).toEqual({
    kind: 'pages',
    listed: [listed('https://x.example/a'), listed('https://x.example/b')],
  });
});
