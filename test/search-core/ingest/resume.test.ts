import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { framesOf } from '../../../search-core/ingest/warc/frames.js';
import { segmentsOf } from '../../../search-core/ingest/warc/segments.js';
import { prose } from '../../support/prose.js';
import { conversionRecord, members } from '../../support/warc-maker.js';

const CLI = join(process.cwd(), 'dist/search-core/cli.js');

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'resume-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const start = (...args: string[]) =>
  spawn(process.execPath, [CLI, ...args, '--json', '--index', join(directory, 'index')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });

async function finish(child: ReturnType<typeof start>): Promise<unknown> {
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  return JSON.parse(out === '' ? '{}' : out);
}

describe('a run that is killed', () => {
  test('is gone on with from its last checkpoint, and ends with every page once', async () => {
    const count = 9_000;
    const file = join(directory, 'pages.warc.wet.gz');
    const records = Array.from({ length: count }, (_, at) =>
      conversionRecord(`https://x.example/${at}`, `Page ${at}\n${prose(at)}`),
    );
    await writeFile(file, members(records));
    let kills = 0;
    for (; kills < 3; kills += 1) {
      const child = start('wet', file);
      const closed = finish(child).catch(() => undefined);
      const before = await chunks();
      for (
        let waited = 0;
        waited < 1_200 && (await chunks()) === before && child.exitCode === null;
        waited += 1
      ) {
        await sleep(50);
      }
      child.kill('SIGKILL');
      await closed;
    }
    expect(await chunks()).toBeGreaterThanOrEqual(2);
    expect(await finish(start('wet', file))).toMatchObject({
      ok: true,
      kept: count,
      dropped: 0,
      indexPages: count,
    });
    expect(await finish(start('check'))).toMatchObject({ ok: true, pages: count });
    expect(await readdir(join(directory, 'ingest'))).toEqual([]);
  }, 300_000);

  /** Chunks of pages that are safe on disk. */
  async function chunks(): Promise<number> {
    const files = await readdir(join(directory, 'ingest'), { recursive: true }).catch(
      (): string[] => [],
    );
    return files.filter((name) => /pages-\d+\.jsonl\.gz$/u.test(name)).length;
  }
});

test('archives of any size are read in constant memory', async () => {
  const file = join(directory, 'large.warc.wet.gz');
  const member = gzipSync(
    conversionRecord('https://x.example/', 'Words that repeat. '.repeat(25_000)),
  );
  // 600 records of half a megabyte: 285 MB of text.
  await writeFile(file, Buffer.concat(Array<Buffer>(600).fill(member)));
  const before = process.memoryUsage().rss;
  let most = before;
  let bytes = 0;
  for await (const segment of segmentsOf(file, {
    onBytes: () => undefined,
    onDamage: () => undefined,
  })) {
    for await (const frame of framesOf(segment)) {
      if (frame.kind === 'record') bytes += frame.bytes.length;
      most = Math.max(most, process.memoryUsage().rss);
    }
  }
  expect(bytes).toBeGreaterThan(280_000_000);
  expect((most - before) / 1e6).toBeLessThan(150);
});
