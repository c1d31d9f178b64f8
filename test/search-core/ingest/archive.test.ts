import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CommandPorts } from '../../../search-core/ingest/load.js';
import { indexArchives } from '../../../search-core/ingest/warc/archive.js';
import { memorySink } from '../../support/memory-sink.js';
import { htmlPage, prose } from '../../support/prose.js';
import { conversionRecord, members, responseRecord, warcRecord } from '../../support/warc-maker.js';

let directory: string;
let sink: ReturnType<typeof memorySink>;
let stop: AbortController;
let ports: CommandPorts;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'warc-'));
  sink = memorySink();
  stop = new AbortController();
  const progress = { show: () => undefined, end: () => undefined };
  ports = { sink, progress, signal: stop.signal, nowMs: () => 0 };
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const url = (n: number | string): string => `https://x.example/${n}`;
const page = (n: number): Buffer => responseRecord(url(n), htmlPage(n));
const wet = (n: number): Buffer => conversionRecord(url(n), `Page ${n}\n${prose(n)}`);

async function index(...contents: Buffer[]) {
  return indexFiles(await write(contents));
}

function indexFiles(files: string[]) {
  const options = { index: join(directory, 'index'), isAddition: false };
  return indexArchives('warc', files, options, ports);
}

async function write(contents: Buffer[]): Promise<string[]> {
  return Promise.all(
    contents.map(async (content, at) => {
      const file = join(directory, `${at}.warc`);
      await writeFile(file, content);
      return file;
    }),
  );
}

const urls = (): string[] => sink.pages().map((found) => found.url);

describe('web archives', () => {
  test('give the main text of their pages, without navigation', async () => {
    const report = await index(
      members([warcRecord({ 'WARC-Type': 'warcinfo' }, 'x: y\r\n'), page(1), page(2)]),
    );
    expect(report).toMatchObject({ kept: 2, dropped: 0, indexPages: 2 });
    const [first] = sink.pages();
    expect(first?.title).toBe('Report 1 of the harbour');
    expect(first?.text).toContain(prose(1, 7));
    expect(first?.text).not.toMatch(/Shop menu|cookie notice|[<>]/u);
  });

  test('give extracted text as it is, titled by its first line, without menus', async () => {
    const menu = Array.from({ length: 9 }, (_, at) => `Menu ${at}`).join('\n');
    await index(members([conversionRecord(url(1), `The title\n${menu}\n${prose(1)}`), wet(2)]));
    expect(sink.pages()[0]).toEqual({
      url: url(1),
      title: 'The title',
      text: `The title\n${prose(1)}`,
    });
  });

  test('may be uncompressed, in one gzip member, or several files', async () => {
    await index(
      Buffer.concat([page(1), wet(2)]),
      gzipSync(Buffer.concat([wet(3), wet(4)])),
      members([wet(5)]),
    );
    expect(urls()).toEqual([1, 2, 3, 4, 5].map(url));
  });

  test('are decoded: chunks, compression and charsets', async () => {
    const html = htmlPage(1, { title: 'Das Über-Café' });
    const type = { 'Content-Type': 'text/html' };
    const latin = Buffer.from(
      htmlPage(2, { title: 'Naïve café', head: '<meta charset="iso-8859-1">' }),
      'latin1',
    );
    const half = Math.floor(html.length / 2);
    const chunked = [html.slice(0, half), html.slice(half)]
      .map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
      .join('');
    await index(
      members([
        responseRecord(url(1), `${chunked}0\r\n\r\n`, {
          headers: { ...type, 'Transfer-Encoding': 'chunked' },
        }),
        responseRecord(url(2), latin, { headers: type }),
        responseRecord(url(3), gzipSync(htmlPage(3)), {
          headers: { ...type, 'Content-Encoding': 'gzip' },
        }),
        responseRecord(url(4), brotliCompressSync(htmlPage(4)), {
          headers: { ...type, 'Content-Encoding': 'br' },
        }),
        responseRecord(url(5), htmlPage(5), { headers: { ...type, 'Content-Encoding': 'gzip' } }),
      ]),
    );
    expect(sink.pages().map(({ title }) => title)).toEqual([
      'Das Über-Café',
      'Naïve café',
      'Report 3 of the harbour',
      'Report 4 of the harbour',
      'Report 5 of the harbour',
    ]);
  });

  test('have what is no page dropped by reason, with the record', async () => {
    const german =
      'Der alte Müller beschreibt jeden Morgen die Brücke am Fluss, bevor der Markt öffnet. '.repeat(
        8,
      );
    const report = await index(
      members([
        page(1),
        responseRecord(url(2), htmlPage(2), { status: 404 }),
        responseRecord(url(3), '%PDF', { headers: { 'Content-Type': 'application/pdf' } }),
        responseRecord(
          url(4),
          htmlPage(4, { head: '<meta name="robots" content="noindex, follow">' }),
        ),
        conversionRecord(url(5), `Titel\n${german}`),
        conversionRecord(url(6), 'Sign in'),
        conversionRecord('mailto:a@b.example', prose(7)),
        conversionRecord(url(8), `Copy\n${prose(9)}`),
        conversionRecord(`${url(9)}?utm_source=x`, `Copy\n${prose(9)}`),
        conversionRecord(url(10), `Copy\n${prose(9).replace('The', 'This')}`),
        conversionRecord(`${url(1)}#top`, `Again\n${prose(11)}`),
        responseRecord(url(12), gzipSync(Buffer.alloc(40_000_000)), {
          headers: { 'Content-Encoding': 'gzip' },
        }),
      ]),
    );
    expect(
      Object.fromEntries(
        report.drops.map(({ reason, first }) => [reason, first[0]?.replace(/.* /u, '')]),
      ),
    ).toEqual({
      http_status: '2',
      not_html: '3',
      noindex: '4',
      not_english: '5',
      too_short: '6',
      invalid_url: '7',
      duplicate_text: '9',
      near_duplicate: '10',
      duplicate_url: '11',
      damaged_content: '12',
    });
    expect(urls()).toEqual([url(1), url(8)]);
  });
});

describe('damaged archives lose what is damaged and nothing else', () => {
  const records = [1, 2, 3, 4, 5].map(wet);

  test('a flipped byte in a gzip member', async () => {
    const whole = members(records);
    const start = members(records.slice(0, 2)).length;
    whole.fill(0xff, start + 40, start + 60);
    const report = await index(whole);
    expect(urls()).toEqual([1, 2, 4, 5].map(url));
    expect(report.drops.some(({ reason }) => reason === 'damaged_gzip')).toBe(true);
  });

  test('a file that ends in the middle of a record', async () => {
    for (const whole of [members(records), Buffer.concat(records)]) {
      const report = await index(whole.subarray(0, whole.length - 200));
      expect(urls()).toEqual([1, 2, 3, 4].map(url));
      expect(report.dropped).toBeGreaterThan(0);
    }
  });

  test.each([
    ['too long', '999'],
    ['too short', '5'],
    ['absurd', '99999999999999'],
    ['no number', 'ten'],
  ])('a content length that is %s', async (_name, length) => {
    const broken = warcRecord(
      { 'WARC-Type': 'conversion', 'WARC-Target-URI': url('b'), 'Content-Length': length },
      prose(3),
    );
    const report = await index(
      members([...records.slice(0, 2)]),
      Buffer.concat([wet(6), broken, ...records.slice(3)]),
    );
    // A length that points behind the end of the file takes the rest of it along.
    const lost = length.length > 10 ? [] : [4, 5];
    expect(urls()).toEqual([1, 2, 6, ...lost].map(url));
    expect(report.dropped).toBeGreaterThan(0);
  });

  test('bytes that are no record at all', async () => {
    const noise = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7_919) % 251));
    await index(Buffer.concat([noise, wet(1), noise, wet(2)]));
    expect(urls()).toEqual([1, 2].map(url));
  });

  test('a file without a single record is named', async () => {
    const noise = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7_919) % 251));
    await expect(index(noise)).rejects.toThrow(/no_warc_records +1 +\(0\.warc\)/u);
    const report = await index(noise, wet(1));
    expect(report.drops).toEqual([{ reason: 'no_warc_records', count: 1, first: ['0.warc'] }]);
  });

  test('a record larger than the limit is passed over', async () => {
    const report = await index(
      Buffer.concat([wet(1), conversionRecord(url(2), 'x '.repeat(5_000_000)), wet(3)]),
    );
    expect(urls()).toEqual([1, 3].map(url));
    expect(report.drops).toMatchObject([{ reason: 'too_large', count: 1 }]);
  });
});

test('a run that was stopped goes on where it stood, to the same end', async () => {
  const files = await write([members(Array.from({ length: 500 }, (_, at) => wet(at)))]);
  let shown = 0;
  const show = (): void => {
    shown += 1;
    if (shown === 2) stop.abort();
  };
  ports = { ...ports, progress: { show, end: () => undefined } };
  await expect(indexFiles(files)).rejects.toThrow('goes on from here');
  expect(sink.pages()).toEqual([]);
  ports = { ...ports, signal: new AbortController().signal };
  const report = await indexFiles(files);
  expect(report).toMatchObject({ kept: 500, dropped: 0, indexPages: 500 });
  expect(await readdir(join(directory, 'ingest'))).toEqual([]);
});
