import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createExtractPool } from '../../../search-core/ingest/html/pool.js';
import { queryOf } from '../../../search-core/ingest/watch/captures-query.js';
import { clusterSink } from '../../../search-core/ingest/watch/cluster-sink.js';
import { startCommonCrawl } from '../../support/common-crawl.js';
import { htmlPage, prose } from '../../support/prose.js';
import { startSite } from '../../support/site.js';
import { removeTemporaries } from '../../support/temporary.js';
import { members, responseRecord } from '../../support/warc-maker.js';
import { type Watching, watching } from '../../support/watching.js';

removeTemporaries();
const pool = createExtractPool();
afterAll(() => pool.close());
let watch: Watching;
let folder: string;
beforeEach(() => {
  watch = watching(pool);
  folder = join(dirname(watch.index), 'drop');
  mkdirSync(folder);
});

const urls = (): string[] =>
  watch.sink
    .pages()
    .map(({ url }) => url)
    .sort();
const line = (url: string, seed: number): string =>
  `${JSON.stringify({ url, title: `Page ${seed}`, text: prose(seed) })}\n`;

describe('a folder of files', () => {
  test('of JSON Lines is read once, and what comes later when it comes', async () => {
    watch.sources({ sources: [{ kind: 'jsonl', folder: 'drop' }] });
    writeFileSync(join(folder, 'a.jsonl'), line('https://x.example/1', 1) + 'no page\n');
    writeFileSync(join(folder, 'b.jsonl.gz'), gzipSync(line('https://x.example/2', 2)));
    writeFileSync(join(folder, '.hidden.jsonl'), line('https://x.example/3', 3));
    writeFileSync(join(folder, 'notes.txt'), line('https://x.example/4', 4));
    await watch.once();
    expect(urls()).toEqual(['https://x.example/1', 'https://x.example/2']);
    await watch.sink.replace(nothing());
    appendFileSync(join(folder, 'a.jsonl'), line('https://x.example/5', 5));
    await watch.once();
    expect(urls()).toEqual(['https://x.example/1', 'https://x.example/5']);
  });

  test('goes on in the middle of a file after a kill', async () => {
    watch.sources({ sources: [{ kind: 'jsonl', folder: 'drop' }] });
    const count = 10_500;
    const lines = Array.from({ length: count }, (_, at) => line(`https://x.example/${at}`, at));
    writeFileSync(join(folder, 'a.jsonl'), lines.join(''));
    let updates = 0;
    const dying = clusterSink(watch.sink);
    await expect(
      watch.once(() => ({
        ...dying,
        update: (pages, gone) => {
          updates += 1;
          return updates === 2 ? Promise.reject(new Error('killed')) : dying.update(pages, gone);
        },
      })),
    ).rejects.toThrow('killed');
    const committed = watch.sink.pages().length;
    expect(committed).toBeGreaterThan(0);
    let puts = 0;
    await watch.once(() => ({
      ...dying,
      update: (pages, gone) =>
        dying.update(
          counted(pages, () => (puts += 1)),
          gone,
        ),
    }));
    expect(watch.sink.pages()).toHaveLength(count);
    expect(puts).toBe(count - committed);
  });

  test('of web archives gives its pages, and the live page wins over the archived one', async () => {
    const site = await startSite();
    site.page('/', htmlPage(1));
    writeFileSync(
      join(folder, 'a.warc.gz'),
      members([
        responseRecord(`${site.origin}/`, htmlPage(2)),
        responseRecord('https://x.example/1', htmlPage(3)),
        responseRecord('https://x.example/copy', htmlPage(3)),
        responseRecord('https://x.example/2', htmlPage(4), { status: 404 }),
      ]),
    );
    writeFileSync(join(folder, 'broken.warc'), 'nothing of the kind');
    watch.sources({
      sources: [
        { kind: 'warc', folder: 'drop' },
        { kind: 'site', url: `${site.origin}/` },
      ],
      everyHost: { delaySeconds: 0 },
    });
    await watch.once();
    watch.pass(48 * 3_600);
    await watch.once();
    expect(urls()).toEqual([`${site.origin}/`, 'https://x.example/1']);
    const live = watch.sink.pages().find(({ url }) => url === `${site.origin}/`);
    expect(live?.title).toBe('Report 1 of the harbour');
    await site.close();
  });

  test('that is not there is said, and keeps nobody else from working', async () => {
    watch.sources({
      sources: [
        { kind: 'jsonl', folder: 'absent' },
        { kind: 'jsonl', folder: 'drop' },
      ],
    });
    writeFileSync(join(folder, 'a.jsonl'), line('https://x.example/1', 1));
    await watch.once();
    expect(urls()).toEqual(['https://x.example/1']);
    expect(watch.said).toEqual([expect.stringContaining('absent cannot be read')]);
  });
});

describe('Common Crawl', () => {
  test('gives the pages of a pattern by ranges out of its newest crawl', async () => {
    const crawl = 'CC-MAIN-2026-40';
    const more = { html: htmlPage(9), crawl };
    const common = await startCommonCrawl([
      { url: 'https://docs.example.org/1', html: htmlPage(0), crawl: 'CC-MAIN-2020-01' },
      { url: 'https://docs.example.org/1', html: htmlPage(1), crawl },
      { url: 'https://docs.example.org/2', html: htmlPage(2), crawl },
      { url: 'https://docs.example.org/3', html: htmlPage(3), crawl },
      { url: 'https://docs.example.org/gone', ...more, fields: { status: '404' } },
      {
        url: 'https://docs.example.org/picture',
        ...more,
        fields: { 'mime-detected': 'image/png' },
      },
      { url: 'https://docs.example.org/deutsch', ...more, fields: { languages: 'deu' } },
      { url: 'https://docs.example.org/odd', ...more, fields: { offset: '-1' } },
      { url: 'https://docs.example.org/stray', ...more, fields: { filename: '//x.example/y' } },
      { url: 'https://www.example.org/4', html: htmlPage(4), crawl },
      { url: 'https://other.example/5', html: htmlPage(5), crawl },
    ]);
    watch.sources({
      sources: [{ kind: 'common-crawl', patterns: ['docs.example.org', 'other.example/no/*'] }],
      commonCrawl: { index: common.origin, data: common.origin },
      everyHost: { delaySeconds: 0 },
    });
    await watch.once();
    expect(urls()).toEqual([1, 2, 3].map((page) => `https://docs.example.org/${page}`));
    expect(common.requests.filter((line) => line.includes(' bytes='))).toHaveLength(3);
    const asked = common.requests.length;
    watch.pass(2 * 24 * 3_600);
    await watch.once();
    // Only the index is looked at again; records do not change.
    expect(common.requests.slice(asked).filter((line) => line.includes(' bytes='))).toEqual([]);
    await common.close();
  });

  test.each([
    ['docs.example.org', 'docs.example.org/*'],
    ['*.example.org', '*.example.org'],
    ['https://docs.example.org/a/*/b*', 'docs.example.org/a/*'],
    ['https://*.example.org/*.html', '*.example.org'],
    ['https://docs.example.org/page', 'https://docs.example.org/page'],
    ['*/wp-admin/*', undefined],
  ])('is asked for %s as %s', (pattern, query) => {
    expect(queryOf(pattern)).toBe(query);
  });
});

async function* counted<T>(items: AsyncIterable<T>, onItem: () => void): AsyncIterable<T> {
  for await (const item of items) {
    onItem();
    yield item;
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- an empty stream
async function* nothing(): AsyncIterable<never> {
  yield* [];
}
