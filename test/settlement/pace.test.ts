import { describe, expect, test } from '@jest/globals';
import { BlockPace } from '../../gateway/settlement/pace.js';
import { seededRandom } from '../support/rpc-proxy.js';

interface World {
  /** Milliseconds between blocks, in truth. */
  readonly intervalMs: number;
  /** What the pace is told that it is. */
  readonly saidMs: number;
  /** Blocks come up to so much later than they should. */
  readonly jitterMs: number;
  readonly phaseMs: number;
}

/** One payer after the other, each paying as soon as it has seen the block of its last payment. */
function follow({ intervalMs, saidMs, jitterMs, phaseMs }: World, blocks: number) {
  const random = seededRandom(phaseMs + jitterMs);
  const arrivals = Array.from(
    { length: 4 * blocks },
    (_, block) => phaseMs + block * intervalMs + random() * jitterMs,
  );
  const newestAt = (now: number) => arrivals.findLastIndex((at) => at <= now);
  const pace = new BlockPace(saidMs);
  let now = phaseMs + 1.3 * intervalMs;
  pace.sawNewest(BigInt(newestAt(now)), now);
  const payments: { looks: number; lateMs: number }[] = [];
  while (payments.length < blocks) {
    // The verification sees the newest block; then the search, and the transaction is sent.
    pace.sawNewest(BigInt(newestAt(now)), now);
    now += 20 + random() * 20;
    const block = newestAt(now) + 1;
    const arrival = arrivals[block] ?? Infinity;
    let missedAt: number | undefined;
    for (let looks = 1; ; looks += 1) {
      now += pace.untilLook(now, looks - 1);
      if (now >= arrival) {
        if (missedAt !== undefined) pace.missed(BigInt(block), missedAt);
        pace.saw(BigInt(block), now);
        payments.push({ looks, lateMs: now - arrival });
        break;
      }
      missedAt = now;
    }
  }
  const learned = payments.slice(20);
  const mean = (of: (payment: { looks: number; lateMs: number }) => number) =>
    learned.reduce((sum, payment) => sum + of(payment), 0) / learned.length;
  return { looks: mean(({ looks }) => looks), lateMs: mean(({ lateMs }) => lateMs) };
}

describe('after twenty blocks, a block is seen', () => {
  const phases = Array.from({ length: 20 }, (_, index) => 137 * index);

  test.each(phases)('within 100 ms by one look each, whatever its phase is (%s ms)', (phaseMs) => {
    const world = { intervalMs: 2000, saidMs: 2000, jitterMs: 0, phaseMs };
    const { looks, lateMs } = follow(world, 200);
    expect(lateMs).toBeLessThan(100);
    expect(looks).toBeLessThan(1.2);
  });

  test.each(phases)(
    'soon and by few looks although blocks are late at times (%s ms)',
    (phaseMs) => {
      const world = { intervalMs: 2000, saidMs: 2000, jitterMs: 150, phaseMs };
      const { looks, lateMs } = follow(world, 200);
      expect(lateMs).toBeLessThan(200);
      expect(looks).toBeLessThan(3);
    },
  );

  test('also when blocks come at another pace than was said', () => {
    for (const [intervalMs, saidMs] of [
      [250, 2000],
      [1000, 2000],
      [4000, 2000],
    ] as const) {
      const world = { intervalMs, saidMs, jitterMs: 0, phaseMs: 77 };
      const { looks, lateMs } = follow(world, 200);
      expect(lateMs).toBeLessThan(120);
      expect(looks).toBeLessThan(3);
    }
  });
});

test('a chain that mines with each transaction is looked at again and again', () => {
  const pace = new BlockPace(0);
  pace.sawNewest(1n, 0);
  expect(pace.untilLook(5, 0)).toBeLessThan(50);
});

test('what the last block has not taken along is looked for in the next ones only', () => {
  const pace = new BlockPace(2000);
  let now = 10_000;
  pace.sawNewest(5n, now);
  pace.missed(6n, now + 1990);
  let looks = 0;
  for (let misses = 0; now < 70_000; misses += 1) {
    now += pace.untilLook(now, misses);
    looks += 1;
  }
  expect(looks).toBeLessThan(30 * 7);
});

test('a first sight that does not tell the newest block is enough to know when to look', () => {
  const pace = new BlockPace(2000);
  pace.saw(10n, 5000);
  const wait = pace.untilLook(5000, 0);
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(2000);
});
