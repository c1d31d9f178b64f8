import { describe, expect, test } from '@jest/globals';
import { BlockWatcher } from '../../../gateway/money/settlement/block-watcher.js';

const BLOCK_MS = 2000;
/** A watcher that knows the rhythm: block N comes at N · 2000. */
function experienced(): BlockWatcher {
  const watcher = new BlockWatcher(BLOCK_MS);
  watcher.timing.missed(10n, 19_990);
  watcher.timing.saw(10n, 20_010);
  return watcher;
}

/** Looks until `untilMs` in vain, with a hint at each of these moments; returns when it looked. */
function looks(watcher: BlockWatcher, hintsMs: readonly number[], untilMs: number): number[] {
  const made: number[] = [];
  const hints = [...hintsMs];
  let [now, misses] = [20_020, 0];
  for (;;) {
    const lookMs = now + watcher.untilLook(now, misses);
    const [hintMs = Infinity] = hints;
    now = Math.min(hintMs, lookMs);
    if (now > untilMs) return made;
    if (hintMs <= lookMs) {
      hints.shift();
      watcher.hint(now, true);
      continue;
    }
    watcher.looking(now);
    misses += 1;
    made.push(now);
  }
}

const everyMs = (stepMs: number, fromMs: number, toMs: number) =>
  Array.from({ length: Math.floor((toMs - fromMs) / stepMs) }, (_, at) => fromMs + at * stepMs);

test('a look is made at once when a block is announced', () => {
  const watcher = experienced();
  expect(watcher.untilLook(21_000, 0)).toBeGreaterThan(900);
  watcher.hint(21_000, true);
  expect(watcher.untilLook(21_000, 0)).toBe(0);
});

test('what nobody waits for is not looked for at the next payment', () => {
  const watcher = experienced();
  watcher.hint(20_100, false);
  expect(watcher.untilLook(20_200, 0)).toBeGreaterThan(1000);
});

test('a thousand false hints a second cause at most four looks more in a block time', () => {
  const without = looks(experienced(), [], 60_000).length;
  const made = looks(experienced(), everyMs(1, 20_021, 60_000), 60_000);
  expect(made.length).toBeLessThanOrEqual(without + 4 * 20 + 1);
  const inOneBlock = made.map((at) => made.filter((other) => other >= at && other < at + 2000));
  for (const block of inOneBlock) expect(block.length).toBeLessThanOrEqual(4 + 8);
});

test('a block that is announced among false hints is still seen within a quarter of a block', () => {
  const made = looks(experienced(), everyMs(1, 20_021, 60_000), 60_000);
  for (let block = 11; block < 29; block += 1) {
    expect(made.some((at) => at >= block * BLOCK_MS && at <= block * BLOCK_MS + 500)).toBe(true);
  }
});

describe('hints that end', () => {
  test('are waited for a quarter of a second at the next block, and no more after that', () => {
    const silent = experienced();
    silent.hint(20_000, false);
    expect(silent.untilLook(21_900, 0)).toBe(experienced().untilLook(21_900, 0) + 250);
    expect(silent.untilLook(23_900, 0)).toBe(experienced().untilLook(23_900, 0));
  });

  test('leave every block seen as soon as without any', () => {
    const silent = experienced();
    silent.hint(18_000, false);
    expect(looks(silent, [], 60_000)).toEqual(looks(experienced(), [], 60_000));
  });
});

test('a chain that mines with each transaction needs no hints', () => {
  const watcher = new BlockWatcher(0);
  watcher.hint(10, true);
  expect(watcher.untilLook(20, 0)).toBeLessThanOrEqual(15);
  watcher.looking(20);
  expect(watcher.untilLook(20, 0)).toBe(15);
});
