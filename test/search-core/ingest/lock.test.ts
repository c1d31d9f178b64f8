import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lock, LockedError } from '../../../search-core/disk/lock.js';
import { openWriter } from '../../../search-core/index/open-writer.js';
import { engineSink } from '../../../search-core/ingest/engine-sink.js';
import { doAlone, jobDirectory } from '../../../search-core/ingest/spool.js';
import { indexArchives } from '../../../search-core/ingest/warc/archive.js';
import { prose } from '../../support/prose.js';
import { conversionRecord } from '../../support/warc-maker.js';

const cleanUps: (() => void)[] = [];
let directory: string;
let path: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'));
  path = join(directory, 'it.lock');
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
  await rm(directory, { recursive: true, force: true });
});

const ports = () => ({
  sink: engineSink(join(directory, 'index')),
  progress: { show: () => undefined, end: () => undefined },
  signal: new AbortController().signal,
  nowMs: () => 0,
});

describe('a lock', () => {
  test('is held by one, who is named to the other, until it is let go of', () => {
    const held = lock(path, 'the index');
    expect(() => lock(path, 'the index')).toThrow(
      new LockedError(`the index is being written by process ${process.pid}`),
    );
    held.release();
    lock(path, 'the index').release();
    expect(existsSync(path)).toBe(false);
  });

  test('of a process that was killed does not count', async () => {
    const program = fileURLToPath(new URL('../../support/index-forever.js', import.meta.url));
    const index = join(directory, 'index');
    const child = fork(program, [index, '0', '3']);
    await new Promise((resolve) => child.once('message', resolve));
    await expect(openWriter(index)).rejects.toThrow(
      `the index ${index} is being written by process ${child.pid}`,
    );
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    const writer = await openWriter(index);
    await writer.close();
    expect((await readdir(index)).filter((name) => name.includes('lock'))).toEqual([]);
  });

  // Where a process's start can be read.
  (process.platform === 'linux' ? test : test.skip)(
    'of a process that had the number of a running one, as in a container, does not count',
    async () => {
      await writeFile(path, `${process.pid} 1`);
      lock(path, 'the index').release();
      expect(await readdir(directory)).toEqual([]);
    },
  );

  test('is taken over from the dead by one of many', async () => {
    await writeFile(path, '999999999 1');
    const taken = Array.from({ length: 8 }, () => {
      try {
        return lock(path, 'the index');
      } catch (error) {
        expect(error).toBeInstanceOf(LockedError);
        return undefined;
      }
    });
    expect(taken.filter((held) => held !== undefined)).toHaveLength(1);
    expect(await readdir(directory)).toEqual(['it.lock']);
  });

  test('of another machine counts, though no process here has its number, until it was silent', async () => {
    const there = lock(path, 'the index', 'machine-a');
    cleanUps.push(() => there.release());
    const take = () => lock(path, 'the index', 'machine-b');
    expect(take).toThrow(
      `the index is being written by process ${process.pid} on machine-a; if that is gone, ` +
        `wait until the lock is ten minutes old, or remove ${path}`,
    );
    await utimes(path, new Date(), new Date(Date.now() - 601_000));
    const here = take();
    // Whoever was silent for so long, and lives, learns of it before it publishes anything.
    expect(() => there.assertHeld()).toThrow(
      new LockedError(
        `the index was taken over: process ${process.pid} on machine-b writes it now`,
      ),
    );
    there.release();
    cleanUps.pop();
    here.assertHeld();
    here.release();
    expect(await readdir(directory)).toEqual([]);
  });
});

test('a writer whose lock was taken over publishes nothing', async () => {
  const index = join(directory, 'index');
  const writer = await openWriter(index);
  await writer.put({ url: 'https://x.example/1', title: 'One', text: prose(1) });
  await rm(join(index, 'writer.lock'));
  await writeFile(join(index, 'writer.lock'), '7 7 machine-b');
  await expect(async () => writer.commit()).rejects.toThrow(
    `the index ${index} was taken over: process 7 on machine-b writes it now`,
  );
  await writer.close();
  expect(await readdir(index)).toContain('writer.lock');
  expect(await readdir(index)).not.toContain('index.json');
});

test('two runs do not do the same job at once', async () => {
  const file = join(directory, 'pages.wet');
  await writeFile(file, conversionRecord('https://x.example/1', `Page\n${prose(1)}`));
  const options = { index: join(directory, 'index'), isAddition: false };
  const [first, second] = await Promise.allSettled([
    indexArchives('wet', [file], options, ports()),
    indexArchives('wet', [file], options, ports()),
  ]);
  const refused = [first, second].filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(1);
  expect(refused[0]).toMatchObject({ reason: { name: 'LockedError' } });
  // A job's place depends on what it is; the lock goes with the job.
  const other = jobDirectory({ index: options.index, place: 'memory' }, 'wet', ['another']);
  expect(await doAlone(other, () => Promise.resolve('done'))).toBe('done');
});
