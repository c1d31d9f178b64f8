import { fork } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openDirectory } from '../../../search-core/disk/filesystem.js';
import { checkIndex } from '../../../search-core/index/check.js';
import { Snapshot } from '../../../search-core/index/snapshot.js';
import { openWriter } from '../../../search-core/index/open-writer.js';
import { engineSink } from '../../../search-core/ingest/engine-sink.js';
import { indexJsonl } from '../../../search-core/ingest/jsonl-load.js';
import { prose } from '../../support/prose.js';

const PROGRAM = fileURLToPath(new URL('../../support/ingest-jsonl.js', import.meta.url));

let directory: string;
let index: string;
let file: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'jsonl-resume-'));
  index = join(directory, 'index');
  file = join(directory, 'pages.jsonl');
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const page = (n: number, text = prose(n)) => ({
  url: `https://x.example/${n}`,
  title: `${n}`,
  text,
});
const lines = (pages: readonly object[]): string =>
  pages.map((one) => `${JSON.stringify(one)}\n`).join('');

/** Lines of the last checkpoint; 0 where there is none. */
function checkpointedLines(): number {
  const draft = join(index, 'draft.json');
  if (!existsSync(draft)) return 0;
  const { note } = JSON.parse(readFileSync(draft, 'utf8').split('\n')[1] ?? '{}') as {
    note: string;
  };
  return (JSON.parse(note) as { lines: number }).lines;
}

/** Stops a load behind a page as a kill would: nothing after that page is done. */
async function stopBehind(pages: number, isAddition = false): Promise<void> {
  let taken = 0;
  const sink = engineSink(index);
  const stop = new AbortController();
  const progress = {
    show: ({ units }: { units: number }) => {
      taken = units;
      if (taken > pages) stop.abort();
    },
    end: () => undefined,
  };
  const ports = { sink, progress, signal: stop.signal, nowMs: () => 0 };
  const options = { index, isAddition, checkpointLength: 2_000 };
  await expect(indexJsonl(file, options, ports)).rejects.toThrow('stopped');
}

const ports = () => ({
  sink: engineSink(index),
  progress: { show: () => undefined, end: () => undefined },
  signal: new AbortController().signal,
  nowMs: () => 0,
});

describe('loading a JSON Lines file', () => {
  test('is gone on with after a kill, from the last checkpoint, to the same index', async () => {
    const pages = Array.from({ length: 3_000 }, (_, n) => page(n));
    // Replaced across checkpoints, and twice: only the last may stay.
    const again = [page(7, 'The newer text of page seven.'), page(7, 'The newest of seven.')];
    await writeFile(file, lines([...pages, ...again]) + 'no page\n');
    const args = [index, file, String(100 * prose(1).length)];
    let before = 0;
    for (let kills = 0; kills < 3; kills++) {
      const child = fork(PROGRAM, args);
      const closed = new Promise((resolve) => child.once('close', resolve));
      while (checkpointedLines() <= before && child.exitCode === null) await sleep(5);
      child.kill('SIGKILL');
      await closed;
      expect(checkpointedLines()).toBeGreaterThan(before);
      before = checkpointedLines();
      expect(Snapshot.open(openDirectory(index)).pages).toBe(0);
    }
    const child = fork(PROGRAM, args);
    const report = await new Promise((resolve) => child.once('message', resolve));
    await new Promise((resolve) =>
      child.exitCode === null ? child.once('close', resolve) : resolve(0),
    );
    expect(report).toMatchObject({ kept: 3_002, dropped: 1, indexPages: 3_000 });
    expect(await checkIndex(index)).toMatchObject({ ok: true, pages: 3_000 });
    expect(existsSync(join(index, 'draft.json'))).toBe(false);
  });

  test('from standard input keeps, when it is repeated, what it has by its URL', async () => {
    const feed = (pages: readonly object[], end: boolean) => {
      const child = fork(PROGRAM, [index, '-', String(10 * prose(1).length)], {
        stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
      });
      child.stdin?.on('error', () => undefined).write(lines(pages));
      if (end) child.stdin?.end();
      return child;
    };
    const pages = Array.from({ length: 200 }, (_, n) => page(n));
    const killed = feed(pages.slice(0, 100), false);
    const closed = new Promise((resolve) => killed.once('close', resolve));
    while (checkpointedLines() < 50 && killed.exitCode === null) await sleep(5);
    killed.kill('SIGKILL');
    await closed;
    const had = checkpointedLines();
    expect(had).toBeGreaterThanOrEqual(50);
    const renewed = pages.map((one, n) => page(n, `${one.text} Renewed`));
    const child = feed(renewed, true);
    const report = await new Promise((resolve) => child.once('message', resolve));
    expect(report).toMatchObject({ kept: 200, dropped: 0, indexPages: 200 });
    const snapshot = Snapshot.open(openDirectory(index));
    const texts = Array.from({ length: 200 }, (_, n) => snapshot.leafOf(n).segment.page(n).text);
    expect(texts.filter((text) => text.endsWith('Renewed'))).toHaveLength(200 - had);
  });

  test('starts again where the file is another one by then', async () => {
    await writeFile(file, lines(Array.from({ length: 40 }, (_, n) => page(n))));
    await stopBehind(30);
    expect(checkpointedLines()).toBeGreaterThan(0);
    await appendFile(file, lines([page(40)]));
    const report = await indexJsonl(file, { index, isAddition: false }, ports());
    expect(report).toMatchObject({ kept: 41, indexPages: 41 });
  });

  test('leaves what was there until it is done, and starts again where that has changed', async () => {
    const writer = await openWriter(index);
    await writer.put(page(100));
    await writer.commit();
    await writer.close();
    await writeFile(file, lines(Array.from({ length: 40 }, (_, n) => page(n))));
    await stopBehind(30, true);
    expect(checkpointedLines()).toBeGreaterThan(0);
    expect(Snapshot.open(openDirectory(index)).pages).toBe(1);
    const other = await openWriter(index);
    await other.put(page(101));
    await other.commit();
    await other.close();
    expect(checkpointedLines()).toBe(0);
    const report = await indexJsonl(file, { index, isAddition: true }, ports());
    expect(report).toMatchObject({ kept: 40, indexPages: 42 });
    expect(await checkIndex(index)).toMatchObject({ ok: true, pages: 42 });
  });
});
