import { afterAll, describe, expect, test } from '@jest/globals';
import { decodePage } from '../../../search-core/ingest/charset.js';
import { extractPage } from '../../../search-core/ingest/html/extract.js';
import { createExtractPool } from '../../../search-core/ingest/html/pool.js';
import { htmlPage, prose } from '../../support/prose.js';

const URL_OF_PAGE = 'https://x.example/dir/page';
const extract = (html: string) => extractPage(html, URL_OF_PAGE);

describe('a web page', () => {
  test('gives its title and main text, without menus, scripts or tags', () => {
    const { title, text } = extract(
      htmlPage(3, {
        body: '<script>alert(1)</script><style>p{}</style><pre>a\n  b</pre><ul><li>The first item says what matters most here.</li><li>The second one adds a reason to it.</li></ul><p>After the list a last sentence stands alone in its paragraph.</p>',
      }),
    );
    expect(title).toBe('Report 3 of the harbour');
    expect(text).toContain(`${prose(3, 7)}\n\n${prose(50_003, 7)}`);
    expect(text).toContain('a\nb');
    expect(text).toContain('- The first item says what matters most here.\n- The second one');
    expect(text).not.toMatch(/alert|Shop menu|cookie|<|p\{\}/u);
  });

  test('keeps lists and tables as lines, with bullets, numbers and bars', () => {
    const list = (tag: string): string =>
      `<${tag}><li><p>First one</p><li>Second one<ul><li>Inner one</ul></${tag}>`;
    const { text } = extract(
      `<p>${prose(1)}</p>${list('ol')}<p>${prose(2)}</p>${list('ul')}<p>${prose(3)}</p>` +
        '<table><tr><th>Month<th>Water</tr><tr><td>June</td> <td>4 l</td></tr></table>',
    );
    expect(text).toContain('\n\n1. First one\n2. Second one\n- Inner one\n\n');
    expect(text).toContain('\n\n- First one\n- Second one\n- Inner one\n\n');
    expect(text).toContain(`${prose(3)}\n\nMonth | Water\nJune | 4 l`);
  });

  test('may leave out every tag that HTML lets it leave out', () => {
    const { title, text } = extract(
      `<!doctype html><title>Short &amp; plain</title><p>${prose(1)}<p>${prose(2)}`,
    );
    expect(title).toBe('Short & plain');
    expect(text).toBe(`${prose(1)}\n\n${prose(2)}`);
  });

  test('is titled by its first heading where it has no title', () => {
    expect(extract(`<body><h1>The heading</h1><p>${prose(1)}</p></body>`).title).toBe(
      'The heading',
    );
  });

  test('names its links once each, absolute, without those that are not to be followed', () => {
    const { links } = extract(
      '<base href="/base/"><body><a href="a">1</a><a href="a#x">2</a><a rel="nofollow" href="b">3</a>' +
        '<a href="//other.example/c">4</a><a href="javascript:void(0)">5</a><a href="https://u:p@h.example/">6</a>',
    );
    expect(links).toEqual(['https://x.example/base/a', 'https://other.example/c']);
  });

  test('names its canonical address only within its own site', () => {
    const canonical = (href: string) =>
      extract(`<link rel=canonical href="${href}"><p>x`).canonical;
    expect(canonical('/main')).toBe('https://x.example/main');
    expect(canonical('https://other.example/main')).toBeUndefined();
    expect(canonical('not a : url')).toBe('https://x.example/dir/not%20a%20:%20url');
  });

  test('of very many tags is read by a plain rule, in time of its length', () => {
    const page = (tags: number): string =>
      `<title>T</title><main><p style="display:none">concealed</p><p>${prose(1)}</p>${'<p>'.repeat(tags)}</main>`;
    expect(extract(page(10)).text).toBe(extract(page(150_000)).text);
    const before = process.cpuUsage();
    expect(extract(page(150_000)).text).not.toContain('concealed');
    // Two seconds; Defuddle took 50. Other programs on the machine do not change CPU time.
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(20_000_000);
  });

  test('says what robots may do', () => {
    expect(extract('<meta name="ROBOTS" content="NoIndex"><p>x')).toMatchObject({
      isNoIndex: true,
      isNoFollow: false,
    });
    expect(extract('<meta name="robots" content="none"><p>x')).toMatchObject({
      isNoIndex: true,
      isNoFollow: true,
    });
  });

  test('is read in its own charset', () => {
    const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
    expect(decodePage(latin('café'), 'text/html; charset="ISO-8859-1"')).toBe('café');
    expect(decodePage(latin('<meta charset=latin1>café'), 'text/html')).toContain('café');
    expect(decodePage(latin('café au lait'), undefined)).toBe('café au lait');
    expect(decodePage(Buffer.from('café'), 'text/html; charset=nonsense')).toBe('café');
    expect(decodePage(Buffer.from('\uFEFFcafé', 'utf16le'), 'text/html; charset=latin1')).toBe(
      'café',
    );
    expect(decodePage(Buffer.from([0x82, 0xa0]), 'text/html; charset=shift_jis')).toBe('あ');
  });
});

describe('the extraction threads', () => {
  const pool = createExtractPool({ threads: 1, timeoutMs: 6_000, heapMb: 256 });
  afterAll(() => pool.close());

  test('end what takes too long and go on with the next page', async () => {
    // More elements than a thread's memory holds.
    const endless = '<p>x'.repeat(3_000_000);
    const [first, second] = await Promise.all([
      pool.extract({ html: `<body>${endless}`, url: URL_OF_PAGE }),
      pool.extract({ html: htmlPage(1), url: URL_OF_PAGE }),
    ]);
    expect(['extraction_timeout', 'extraction_failed']).toContain(first);
    expect(second).toMatchObject({ title: 'Report 1 of the harbour' });
  });
});
