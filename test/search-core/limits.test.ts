import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DamagedIndexError } from '../../search-core/disk/checked.js';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import type { Engine, SearchOutcome } from '../../search-core/engine.js';
import { buildIndex } from '../../search-core/index/build.js';
import { checkIndex } from '../../search-core/index/check.js';
import { Snapshot } from '../../search-core/index/snapshot.js';
import { openWriter } from '../../search-core/index/open-writer.js';
import { startSearchCore } from '../../search-core/main.js';
import type { Page } from '../../search-core/page.js';
import { Searcher } from '../../search-core/query/searcher.js';
import { listenOn } from '../../search-core/service/listen.js';
import { SearchService } from '../../search-core/service/server.js';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const cleanUps: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'search-core-'));
  cleanUps.push(() => rmSync(path, { recursive: true }));
  return path;
}

async function* manyPages(count: number): AsyncGenerator<Page> {
  for (let n = 0; n < count; n++) {
    const text = `common words and number ${n} `.repeat(1 + (n % 7));
    yield await Promise.resolve({ url: `https://example.test/${n}`, title: `Page ${n}`, text });
  }
}

const request = { query: 'common words', maxResults: 5, maxDescriptionLength: 1000 };

describe('a search that runs out', () => {
  test.each([
    ['time', { deadlineMs: 5, postingsMax: 1e9 }, 'deadline'],
    ['postings', { deadlineMs: 1e9, postingsMax: 5_000 }, 'postings'],
    ['nothing', { deadlineMs: 1e9, postingsMax: 1e9 }, 'complete'],
  ])('of %s answers with what it has and says so', async (_, limits, ended) => {
    const path = temporary();
    await buildIndex(path, manyPages(9_000));
    let time = 0;
    const snapshot = Snapshot.open(openDirectory(path));
    const searcher = new Searcher(snapshot, () => (time += 2));
    const { results, metrics } = searcher.search(request, limits);
    expect(metrics.ended).toBe(ended);
    expect(metrics.postings).toBeGreaterThan(0);
    expect(results).toHaveLength(5);
    snapshot.close();
  });
});

/** An engine whose searches end when the test says so. */
function heldEngine(): { engine: Engine; running: () => number; release: () => void } {
  const waiting: ((outcome: SearchOutcome) => void)[] = [];
  const outcome: SearchOutcome = {
    results: [],
    metrics: { ended: 'complete', phrases: 'none', postings: 0 },
  };
  const done = (): Promise<void> => Promise.resolve();
  return {
    engine: {
      search: () => new Promise((resolve) => waiting.push(resolve)),
      apply: done,
      commit: done,
      close: done,
      stats: () => Promise.resolve({ pages: 1, generation: 1 }),
    },
    running: () => waiting.length,
    release: () => {
      for (const resolve of waiting.splice(0)) resolve(outcome);
    },
  };
}

const post = (url: string): Promise<Response> =>
  fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'x' }),
  });

test('searches beyond the limit are refused with 503 while the others go on, also when draining', async () => {
  const { engine, running, release } = heldEngine();
  const limits = { deadlineMs: 1_000, postingsMax: 1 };
  const service = new SearchService({ engine, limits, searchesMax: 2, log });
  const url = await listenOn(service.server, { host: '127.0.0.1', port: 0 });
  const held = [post(url), post(url)];
  while (running() < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  const refused = await post(url);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ code: 'overloaded' });
  const drained = service.drain();
  release();
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
  await drained;
});

test('metrics tell how searches ended, how long they took and what they read', async () => {
  const { engine } = heldEngine();
  const ends = ['complete', 'deadline', 'postings', 'deadline'] as const;
  let next = 0;
  const search = () =>
    Promise.resolve({
      results: [],
      metrics: {
        ended: ends[next] ?? 'complete',
        phrases: (['none', 'required', 'preferred', 'preferred'] as const)[next++] ?? 'none',
        postings: 7,
      },
    });
  const limits = { deadlineMs: 1_000, postingsMax: 1 };
  const service = new SearchService({ engine: { ...engine, search }, limits, searchesMax: 4, log });
  const url = await listenOn(service.server, { host: '127.0.0.1', port: 0 });
  cleanUps.push(() => service.drain());
  const replies = await Promise.all(ends.map(() => post(url)));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  expect(lines).toContain('search_core_searches_total{ended="complete"} 1');
  expect(lines).toContain('search_core_searches_total{ended="deadline"} 2');
  expect(lines).toContain('search_core_searches_total{ended="postings"} 1');
  expect(lines).toContain('search_core_phrase_searches_total{phrases="required"} 1');
  expect(lines).toContain('search_core_phrase_searches_total{phrases="preferred"} 2');
  expect(lines).toContain('search_core_postings_read_total 28');
  expect(lines).toContain('search_core_search_seconds_count 4');
});

test('the service takes up a commit of another writer while it serves', async () => {
  const indexDir = join(temporary(), 'index');
  const core = await startSearchCore({ listen: '127.0.0.1:0', indexDir, log, threads: 1 });
  cleanUps.push(() => core.close());
  expect((await fetch(`${core.url}/readyz`)).status).toBe(503);
  const writer = await openWriter(indexDir);
  await expect(openWriter(indexDir)).rejects.toThrow('is being written by process');
  await writer.put({ url: 'https://example.test/1', title: 'New', text: 'Fresh x.' });
  await writer.commit();
  await writer.close();
  const until = Date.now() + 10_000;
  while ((await fetch(`${core.url}/readyz`)).status !== 200 && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const body = (await (await post(core.url)).json()) as { result: { totalResults: number } };
  expect(body.result.totalResults).toBe(1);
});

test('a flipped bit in any file of the index is found by the check', async () => {
  const path = temporary();
  await buildIndex(path, manyPages(300));
  expect(await checkIndex(path)).toMatchObject({ ok: true, pages: 300, segments: 1 });
  for (const name of openDirectory(path).list()) {
    const file = join(path, name);
    const bytes = readFileSync(file);
    if (bytes.length === 0) continue;
    const damaged = Buffer.from(bytes);
    const at = Math.floor(bytes.length / 2);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(file, damaged);
    const report = await checkIndex(path);
    expect({ name, ok: report.ok }).toEqual({ name, ok: false });
    writeFileSync(file, bytes);
  }
  expect((await checkIndex(path)).ok).toBe(true);
  writeFileSync(join(path, 'index.json'), 'nonsense');
  expect(() => Snapshot.open(openDirectory(path))).toThrow(DamagedIndexError);
});
