import { describe, expect, test } from '@jest/globals';
import { fork } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Directory } from '../../search-core/disk/directory.js';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { check } from '../../search-core/index/check.js';
import { filesOf } from '../../search-core/index/commit.js';
import { Snapshot } from '../../search-core/index/snapshot.js';
import { IndexWriter } from '../../search-core/index/writer.js';
import type { Page } from '../../search-core/page.js';
import { FailingDirectory, PowerLoss } from '../support/failing-directory.js';

/** Kills of real processes: a few here, many by `SEARCH_KILLS=1000 npm test -- test/search-core/crash`. */
const KILLS = Number(process.env.SEARCH_KILLS ?? 8);

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Every page of round n says so, and every round has all pages: a mixture would show. */
const pageOf = (n: number, round: number): Page => ({
  url: `https://example.test/${n}`,
  title: `Page ${n}`,
  text: `This is round ${round} of page ${n}. `.repeat(1 + (n % 5)),
});

/** The round whose pages an index holds; throws for a mixture. −1 for an empty index. */
function roundOf(directory: Directory, pages: number): number {
  const report = check(directory);
  if (report.generation > 0) expect(report.problems).toEqual([]);
  const snapshot = Snapshot.open(directory);
  const rounds = new Set<number>();
  let count = 0;
  for (const { segment, deleted } of snapshot.leaves) {
    for (let d = 0; d < segment.meta.documents; d++) {
      if (deleted.has(d)) continue;
      rounds.add(Number(/round (\d+)/.exec(segment.page(d).text)?.[1]));
      count++;
    }
  }
  if (count === 0) return -1;
  expect(count).toBe(pages);
  expect(rounds.size).toBe(1);
  return [...rounds][0] ?? -1;
}

const PAGES = 12;

/** Replaces all pages round by round, with merges; reports each round once it is committed. */
async function rounds(
  directory: Directory,
  from: number,
  to: number,
  committed: (round: number) => void,
): Promise<void> {
  const writer = new IndexWriter(directory);
  for (let round = from; round < to; round++) {
    for (let n = 0; n < PAGES; n++) await writer.put(pageOf(n, round));
    await writer.commit();
    committed(round);
    if (round % 4 === 3) await writer.compact();
    else await writer.merge();
  }
  await writer.close();
}

describe('a power loss leaves the index from before the commit or the one from after', () => {
  test('at every single step', async () => {
    const whole = new FailingDirectory(1e9);
    await rounds(whole, 0, 5, () => undefined);
    const steps = 1e9 - whole.left;
    expect(steps).toBeGreaterThan(100);
    for (let step = 0; step < steps; step++) {
      const random = seeded(step);
      const directory = new FailingDirectory(step);
      let last = -1;
      await expect(rounds(directory, 0, 5, (round) => (last = round))).rejects.toThrow(PowerLoss);
      const found = roundOf(directory.afterCrash(random), PAGES);
      expect([last, last + 1]).toContain(found);
    }
  });

  test('and work goes on from there, with nothing left behind', async () => {
    const random = seeded(7);
    for (let n = 0; n < 40; n++) {
      const directory = new FailingDirectory(20 + Math.floor(random() * 250));
      await rounds(directory, 0, 9, () => undefined).catch(() => undefined);
      const restarted = directory.afterCrash(random);
      await rounds(restarted, 20, 22, () => undefined);
      expect(roundOf(restarted, PAGES)).toBe(21);
      const { commit } = Snapshot.open(restarted);
      expect(restarted.list().sort()).toEqual([...filesOf(commit), 'index.json'].sort());
    }
  });
});

/** Loads all pages of a round in one job with checkpoints, from where an earlier run stood. */
async function loadRound(directory: Directory, round: number): Promise<number> {
  const writer = new IndexWriter(directory, undefined, undefined, 'the load');
  const from = Number(writer.note ?? 0);
  if (from === 0) writer.clear();
  for (let n = from; n < PAGES; n++) {
    await writer.put(pageOf(n, round));
    if (n % 4 === 3) writer.checkpoint(String(n + 1));
  }
  await writer.compact();
  await writer.close();
  return from;
}

test('a power loss during a load leaves the old index, and the load goes on from a checkpoint', async () => {
  const base = new FailingDirectory();
  await rounds(base, 0, 1, () => undefined);
  const whole = base.afterCrash(() => 1, 1e9);
  await loadRound(whole, 1);
  const steps = 1e9 - whole.left;
  const starts = new Set<number>();
  for (let step = 0; step < steps; step++) {
    const random = seeded(step);
    const directory = base.afterCrash(() => 1, step);
    await expect(loadRound(directory, 1)).rejects.toThrow(PowerLoss);
    const restarted = directory.afterCrash(random);
    expect([0, 1]).toContain(roundOf(restarted, PAGES));
    starts.add(await loadRound(restarted, 1));
    expect(roundOf(restarted, PAGES)).toBe(1);
    const { commit } = Snapshot.open(restarted);
    expect(restarted.list().sort()).toEqual([...filesOf(commit), 'index.json'].sort());
  }
  expect(starts).toEqual(new Set([0, 4, 8, 12]));
});

describe('a killed process', () => {
  test(
    `${KILLS} kills during commits and merges leave a whole index each time`,
    async () => {
      const path = mkdtempSync(join(tmpdir(), 'search-core-kill-'));
      const module = fileURLToPath(new URL('../support/index-forever.js', import.meta.url));
      const random = seeded(KILLS);
      let last = -1;
      try {
        for (let kill = 0; kill < KILLS; kill++) {
          const child = fork(module, [path, String(last + 1), String(PAGES)]);
          child.on('message', (round: number) => (last = round));
          await new Promise((resolve, reject) => {
            child.once('message', resolve);
            child.once('close', () => reject(new Error('the writing process ended by itself')));
          });
          await new Promise((resolve) => setTimeout(resolve, random() * 150));
          child.kill('SIGKILL');
          await new Promise((resolve) => child.once('close', resolve));
          const found = roundOf(openDirectory(path), PAGES);
          expect(found).toBeGreaterThanOrEqual(last);
          last = found;
        }
        expect(readdirSync(path).length).toBeLessThan(100);
      } finally {
        rmSync(path, { recursive: true });
      }
    },
    30_000 + KILLS * 2_000,
  );
});
