import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { indexJsonl } from '../../../search-core/ingest/jsonl-load.js';
import type { CommandPorts } from '../../../search-core/ingest/load.js';
import { gunzipped, linesOf } from '../../../search-core/ingest/input.js';
import { jsonlPages } from '../../../search-core/ingest/jsonl.js';
import { createTally } from '../../../search-core/ingest/tally.js';
import { memorySink } from '../../support/memory-sink.js';
import { until } from '../../support/until.js';

let directory: string;
let sink: ReturnType<typeof memorySink>;
let stop: AbortController;
let ports: CommandPorts;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'jsonl-'));
  sink = memorySink();
  stop = new AbortController();
  const progress = { show: () => undefined, end: () => undefined };
  ports = { sink, progress, signal: stop.signal, nowMs: () => 0 };
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const page = (n: number) => ({
  url: `https://x.example/${n}`,
  title: `Page ${n}`,
  text: `Text ${n}`,
});
const jsonl = (...lines: unknown[]): string =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');

async function index(content: string | Buffer, isAddition = false) {
  const file = join(directory, 'pages.jsonl');
  await writeFile(file, content);
  return indexJsonl(file, { index: directory, isAddition }, ports);
}

async function* chunks(...parts: Buffer[]): AsyncIterable<Buffer> {
  for (const part of parts) yield await Promise.resolve(part);
}

describe('a JSON Lines file', () => {
  test('replaces the index with its pages', async () => {
    await index(jsonl(page(1), page(2)));
    const report = await index(jsonl(page(3)));
    expect(report).toMatchObject({ command: 'jsonl', kept: 1, dropped: 0, indexPages: 1 });
    expect(sink.pages()).toEqual([page(3)]);
  });

  test('is added to the index when asked, a later page taking the place of its URL', async () => {
    await index(jsonl(page(1), page(2)));
    await index(jsonl({ ...page(2), text: 'New' }, page(3)), true);
    expect(sink.pages().map(({ text }) => text)).toEqual(['Text 1', 'New', 'Text 3']);
  });

  test('may be compressed, also as several gzip members', async () => {
    const members = [page(1), page(2)].map((one) => gzipSync(`${jsonl(one)}\n`));
    expect((await index(Buffer.concat(members))).kept).toBe(2);
  });

  test('has its faulty lines counted by reason with the first line numbers', async () => {
    const report = await index(
      jsonl(
        page(1),
        '{"url":',
        '[]',
        '"text"',
        { ...page(2), url: 'ftp://x.example' },
        '',
        {
          ...page(3),
          title: ' \u0000 ',
        },
        { url: 'https://x.example/4', title: 'No text' },
        { ...page(5), url: '/relative' },
        {
          ...page(6),
          url: 'https://user:secret@x.example/',
        },
        { ...page(7), url: 8 },
        'null',
      ),
    );
    expect(report.drops).toEqual([
      { reason: 'invalid_url', count: 4, first: ['line 5', 'line 9', 'line 10'] },
      { reason: 'not_an_object', count: 3, first: ['line 3', 'line 4', 'line 12'] },
      { reason: 'invalid_json', count: 1, first: ['line 2'] },
      { reason: 'missing_text', count: 1, first: ['line 8'] },
      { reason: 'missing_title', count: 1, first: ['line 7'] },
    ]);
    expect(report.kept).toBe(1);
  });

  test('leaves the old index when it holds no page, is damaged, or is stopped', async () => {
    await index(jsonl(page(1)));
    await expect(index('{}\n')).rejects.toThrow(/no usable page.*invalid_url/su);
    await expect(index('')).rejects.toThrow('no usable page');
    const whole = gzipSync(jsonl(page(2), page(3)));
    await expect(index(whole.subarray(0, whole.length - 9))).rejects.toThrow();
    stop.abort();
    await expect(index(jsonl(page(4)))).rejects.toThrow('stopped');
    await expect(
      indexJsonl('/absent.jsonl', { index: '', isAddition: false }, ports),
    ).rejects.toThrow('ENOENT');
    expect(sink.pages()).toEqual([page(1)]);
  });

  test('cleans what it keeps: no fragments, control characters, or half characters', async () => {
    await index(
      jsonl({
        url: 'https://X.example/a b|c#top',
        title: ' A\n\tb ',
        text: 'x\u0000y\r\n\r\n\r\nz\uD800',
      }),
    );
    expect(sink.pages()).toEqual([
      { url: 'https://x.example/a%20b%7Cc', title: 'A b', text: 'x y\n\nz\uFFFD' },
    ]);
  });

  test('has a line of any length dropped without being held', async () => {
    const long = Buffer.alloc(1024 * 1024, 'x');
    const tally = createTally();
    const parts = [...Array<Buffer>(40).fill(long), Buffer.from(`\n${jsonl(page(1))}`)];
    const found = [];
    for await (const one of jsonlPages(chunks(...parts), tally)) found.push(one);
    expect(found).toEqual([page(1)]);
    expect(tally.drops()).toEqual([{ reason: 'line_too_long', count: 1, first: ['line 1'] }]);
  });
});

test.each([
  ['is damaged', 'damaged.gz', 'unexpected end of file'],
  ['is gone', 'gone.gz', 'ENOENT'],
])(
  'a compressed file that %s tells whoever reads it, however late',
  async (_what, name, message) => {
    await writeFile(join(directory, 'damaged.gz'), gzipSync(jsonl(page(1))).subarray(0, 30));
    const bytes = gunzipped(createReadStream(join(directory, name)));
    await until(() => bytes.errored !== null);
    await expect(bytes.toArray()).rejects.toThrow(message);
  },
);

test('lines come out the same however the stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.stringMatching(/^[a-c€]{0,5}$/u), { maxLength: 12 }),
      fc.array(fc.nat(40), { maxLength: 6 }),
      async (lines, cuts) => {
        const whole = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const edges = [
          0,
          ...cuts.map((at) => Math.min(at, whole.length)).sort((a, b) => a - b),
          whole.length,
        ];
        const parts = edges.slice(1).map((end, at) => whole.subarray(edges[at], end));
        const out: (string | undefined)[] = [];
        for await (const line of linesOf(chunks(...parts), 100)) out.push(line.bytes?.toString());
        expect(out).toEqual(lines);
      },
    ),
  );
});
