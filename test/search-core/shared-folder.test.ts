/** One index folder, written by one process and served by several: shared, or copied by any tool. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ThreadedEngine } from '../../search-core/engines/threaded.js';
import { COMMIT_FILE } from '../../search-core/index/commit.js';
import { buildIndex } from '../../search-core/index/build.js';
import { startSearchCore } from '../../search-core/main.js';
import type { Page } from '../../search-core/page.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import { until } from '../support/until.js';

const PAGES = 12;
const LIMITS = { deadlineMs: 1e9, postingsMax: 1e9 };
const WRITER = fileURLToPath(new URL('../support/index-forever.js', import.meta.url));
const cleanUps: (() => unknown)[] = [];

removeTemporaries();
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function opened(indexDir: string, onError: (error: unknown) => void = unexpected) {
  const engine = await ThreadedEngine.open({ indexDir, threads: 2, onError });
  cleanUps.push(() => engine.close());
  return engine;
}

const unexpected = (error: unknown): void => {
  throw error;
};

/** Replaces all pages round by round from `first` on, until it is killed. */
function writing(path: string, first: number): ChildProcess {
  const child = fork(WRITER, [path, String(first), String(PAGES)]);
  cleanUps.push(() => child.kill('SIGKILL'));
  return child;
}

/** The round that a search found, which all of its results are of. */
async function roundOf(engine: ThreadedEngine): Promise<number> {
  const request = { query: 'round', maxResults: 20, maxDescriptionLength: 1000 };
  const { results } = await engine.search(request, LIMITS);
  const rounds = results.map(({ description }) => Number(/round (\d+)/.exec(description)?.[1]));
  expect([rounds.length, new Set(rounds).size]).toEqual([PAGES, 1]);
  return rounds[0] ?? -1;
}

async function* pagesOfRound(round: number): AsyncGenerator<Page> {
  for (let n = 0; n < PAGES; n++) {
    const text = `This is round ${round} of page ${n}.`;
    yield await Promise.resolve({ url: `https://example.test/${n}`, title: `Page ${n}`, text });
  }
}

async function indexOfRound(round: number): Promise<string> {
  const path = temporary();
  await buildIndex(path, pagesOfRound(round));
  return path;
}

/** Copies a file as tools do that write in place: what was copied so far stands under its name. */
function copied(name: string, from: string, to: string, share = 1): void {
  const bytes = fs.readFileSync(join(from, name));
  fs.writeFileSync(join(to, name), bytes.subarray(0, Math.floor(bytes.length * share)));
}

const IN_ORDER_OF_OPENING = ['text', 'terms', 'postings', 'positions', 'norms', 'keys', 'pages'];

const filesOf = (path: string): string[] =>
  fs.readdirSync(path).filter((name) => name !== COMMIT_FILE);

describe('several engines over one folder', () => {
  test('show whole commits only, while a writer commits, merges and is killed again and again', async () => {
    const path = temporary();
    const first = writing(path, 0);
    await once(first, 'message');
    const engines = await Promise.all([opened(path), opened(path), opened(path)]);
    let last = 0;
    let writer = first;
    for (let kill = 0; kill < 3; kill++) {
      for (const stop = last + 6; last < stop;) {
        const seen = await Promise.all(engines.map((engine) => roundOf(engine)));
        last = Math.max(...seen);
      }
      const closed = once(writer, 'close');
      writer.kill('SIGKILL');
      await closed;
      // What was committed before the kill is what all of them come to.
      const stats = async () => Promise.all(engines.map((engine) => engine.stats()));
      await until(
        async () => new Set((await stats()).map(({ generation }) => generation)).size < 2,
      );
      const seen = await Promise.all(engines.map((engine) => roundOf(engine)));
      expect(new Set(seen).size).toBe(1);
      last = Math.max(...seen);
      writer = writing(path, last + 1);
    }
  });

  test('go on with the last whole commit while the next one is copied, file after file', async () => {
    const [one, two] = [await indexOfRound(1), await indexOfRound(2)];
    const engine = await opened(one, () => undefined);
    const problem = async () => (await engine.stats()).problem;
    const found = [await roundOf(engine)];
    copied(COMMIT_FILE, two, one, 0.5);
    await until(async () => (await problem()) !== undefined);
    found.push(await roundOf(engine));
    copied(COMMIT_FILE, two, one);
    for (const kind of IN_ORDER_OF_OPENING) {
      const name = filesOf(two).find((one) => one.endsWith(kind)) ?? '';
      copied(name, two, one, 0.9);
      await until(async () => (await problem())?.includes(`${kind}: the end`) === true);
      found.push(await roundOf(engine));
      copied(name, two, one);
    }
    expect(new Set(found)).toEqual(new Set([1]));
    await until(async () => (await problem()) === undefined);
    expect(await roundOf(engine)).toBe(2);
  });

  test('leave a commit alone that its writer did not live to publish', async () => {
    const [one, two] = [await indexOfRound(1), await indexOfRound(2)];
    const engine = await opened(one);
    for (const name of filesOf(two)) copied(name, two, one);
    fs.copyFileSync(join(two, COMMIT_FILE), join(one, `${COMMIT_FILE}.new`));
    const { generation } = await (await opened(one)).stats();
    expect(await engine.stats()).toMatchObject({
      pages: PAGES,
      generation,
      bytes: expect.any(Number),
      committedAt: expect.any(Number),
    });
    expect((await engine.stats()).bytes).toBeGreaterThan(0);
    expect(await roundOf(engine)).toBe(1);
    await buildIndex(one, pagesOfRound(3));
    await until(async () => (await roundOf(engine)) === 3);
    expect(fs.readdirSync(one)).not.toContain(`${COMMIT_FILE}.new`);
  });

  test('take up another index that was put in its place, whatever its numbers', async () => {
    const [one, two] = [await indexOfRound(1), await indexOfRound(2)];
    const engine = await opened(one);
    for (const name of filesOf(two)) copied(name, two, one);
    fs.renameSync(join(two, COMMIT_FILE), join(one, COMMIT_FILE));
    await until(async () => (await roundOf(engine)) === 2);
  });

  test('search what they opened after the writer removed its files', async () => {
    const path = await indexOfRound(1);
    const engine = await opened(path);
    for (const name of filesOf(path)) fs.rmSync(join(path, name));
    expect(await roundOf(engine)).toBe(1);
  });
});

test('a service that finds half a copy says so, serves nothing, and serves once it is whole', async () => {
  const [whole, path] = [await indexOfRound(1), temporary()];
  copied(COMMIT_FILE, whole, path);
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const core = await startSearchCore({ listen: '127.0.0.1:0', indexDir: path, log, threads: 1 });
  cleanUps.push(() => core.close());
  const ready = await fetch(`${core.url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ problem: expect.stringContaining('not whole') });
  const search = () =>
    fetch(`${core.url}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"round"}',
    });
  const refused = await search();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  for (const name of filesOf(whole)) copied(name, whole, path);
  await until(async () => (await fetch(`${core.url}/readyz`)).status === 200);
  expect(await (await search()).json()).toMatchObject({ result: { totalResults: 10 } });
});
