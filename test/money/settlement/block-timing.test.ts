import { describe, expect, test } from '@jest/globals';
import { BlockTiming } from '../../../gateway/money/settlement/block-timing.js';
import { seededRandom } from '../../support/rpc-proxy.js';

interface World {
  /** Milliseconds between blocks, in truth. */
  readonly intervalMs: number;
  /** What the timing is told that it is. */
  readonly saidMs: number;
  /** Blocks come up to so much later than they should. */
  readonly jitterMs: number;
  readonly phaseMs: number;
  /** Verifications that tell of the newest block before each look; 1 when left out. */
  readonly payers?: number;
}

/** One payer after the other, each paying as soon as it has seen the block of its last payment. */
function follow({ intervalMs, saidMs, jitterMs, phaseMs, payers = 1 }: World, blocks: number) {
  const random = seededRandom(phaseMs + jitterMs);
  const arrivals = Array.from(
    { length: 4 * blocks },
    (_, block) => phaseMs + block * intervalMs + random() * jitterMs,
  );
  const newestAt = (now: number) => arrivals.findLastIndex((at) => at <= now);
  const timing = new BlockTiming(saidMs);
  let now = phaseMs + 1.3 * intervalMs;
  timing.sawNewest(BigInt(newestAt(now)), now);
  const payments: { looks: number; lateMs: number }[] = [];
  while (payments.length < blocks) {
    // The verification sees the newest block; then the search, and the transaction is sent.
    for (let payer = 0; payer < payers; payer += 1) timing.sawNewest(BigInt(newestAt(now)), now);
    now += 20 + random() * 20;
    const block = newestAt(now) + 1;
    const arrival = arrivals[block] ?? Infinity;
    let missedAt: number | undefined;
    for (let looks = 1; ; looks += 1) {
      now += timing.untilLook(now, looks - 1);
      if (now >= arrival) {
        if (missedAt !== undefined) timing.missed(BigInt(block), missedAt);
        timing.saw(BigInt(block), now);
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

  test.each([1999, 2001])(
    'soon although they come every %s ms and not every 2000',
    (intervalMs) => {
      const world = { intervalMs, saidMs: 2000, jitterMs: 0, phaseMs: 137 };
      const { looks, lateMs } = follow(world, 200);
      expect(lateMs).toBeLessThan(100);
      expect(looks).toBeLessThan(1.2);
    },
  );

  test('by one look each however many payments tell of the newest block', () => {
    const world = { intervalMs: 2000, saidMs: 2000, jitterMs: 0, phaseMs: 137, payers: 64 };
    const { looks, lateMs } = follow(world, 200);
    expect(lateMs).toBeLessThan(100);
    expect(looks).toBeLessThan(1.1);
  });

  test('also when an endpoint has made up a block of the far future in between', () => {
    const timing = new BlockTiming(2000);
    timing.sawNewest(10n, 20_000);
    timing.missed(11n, 21_950);
    timing.saw(11n, 22_000);
    const wait = timing.untilLook(22_100, 0);
    timing.sawNewest(1_000_000_000n, 22_200);
    timing.sawNewest(11n, 22_300);
    timing.missed(12n, 23_950);
    timing.saw(12n, 24_000);
    expect(Math.abs(timing.untilLook(24_100, 0) - wait)).toBeLessThan(150);
  });
});

test('sights that contradict each other, or come in any order, never leave it without a moment to look', () => {
  const random = seededRandom(3);
  const timing = new BlockTiming(2000);
  let now = 0;
  for (let i = 0; i < 2000; i += 1) {
    now += random() * 5000;
    const block = BigInt(Math.floor(random() * 1000));
    const sight = Math.floor(random() * 3);
    if (sight === 0) timing.saw(block, now);
    else if (sight === 1) timing.missed(block, now);
    else timing.sawNewest(block, now);
    const wait = timing.untilLook(now, i % 4);
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(4000);
  }
});

test('a chain that mines with each transaction is looked at again and again', () => {
  const timing = new BlockTiming(0);
  timing.sawNewest(1n, 0);
  expect(timing.untilLook(5, 0)).toBeLessThan(50);
});

test('what the last block has not taken along is looked for in the next ones only', () => {
  const timing = new BlockTiming(2000);
  let now = 10_000;
  timing.sawNewest(5n, now);
  timing.missed(6n, now + 1990);
  let looks = 0;
  for (let misses = 0; now < 70_000; misses += 1) {
    now += timing.untilLook(now, misses);
    looks += 1;
  }
  expect(looks).toBeLessThan(30 * 7);
});

test('a first sight that does not tell the newest block is enough to know when to look', () => {
  const timing = new BlockTiming(2000);
  timing.saw(10n, 5000);
  const wait = timing.untilLook(5000, 0);
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(2000);
});
