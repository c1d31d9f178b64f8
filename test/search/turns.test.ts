import { describe, expect, test } from '@jest/globals';
import { LOOPS_BETWEEN, Turns } from '../../gateway/search/turns.js';

/** A clock whose deferred tasks run one by one, when the test says so. */
function manualClock() {
  const tasks: (() => void)[] = [];
  let nowMs = 0;
  return {
    defer: (task: () => void) => void tasks.push(task),
    monotonicMs: () => nowMs,
    /** The rounds of the event loop from one turn to the next, some milliseconds later. */
    turn: async (ms = 0) => {
      nowMs += ms;
      for (let round = 0; round < LOOPS_BETWEEN; round += 1) tasks.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
    pending: () => tasks.length,
  };
}

describe('payments come up', () => {
  test('one after some rounds of the event loop each, in the order in which they came', async () => {
    const clock = manualClock();
    const turns = new Turns(clock);
    const up: number[] = [];
    for (const one of [1, 2, 3]) void turns.take().then(() => up.push(one));
    expect(up).toEqual([]);
    for (const expected of [[1], [1, 2], [1, 2, 3]]) {
      expect(clock.pending()).toBe(1);
      await clock.turn();
      expect(up).toEqual(expected);
    }
    expect(clock.pending()).toBe(0);
    expect(turns.active).toBe(3);
  });

  test('128 at a time: the next one when one of them needs no more work', async () => {
    const clock = manualClock();
    const turns = new Turns(clock);
    const taken = Array.from({ length: 130 }, () => turns.take());
    while (clock.pending() > 0) await clock.turn();
    expect(turns.active).toBe(128);
    expect(turns.payments).toBe(130);
    const first = await taken[0];
    first?.leave();
    // Leaving twice gives no second place away.
    first?.leave();
    while (clock.pending() > 0) await clock.turn();
    expect(turns.active).toBe(128);
    expect(turns.payments).toBe(129);
  });

  test('as late as the turns of a crowd have taken lately', async () => {
    const clock = manualClock();
    const turns = new Turns(clock);
    expect(turns.waitSeconds).toBe(0);
    const places = Array.from({ length: 200 }, async () => (await turns.take()).leave());
    for (let count = 0; count < 100; count += 1) await clock.turn(50);
    expect(turns.waitSeconds).toBeCloseTo(100 * 0.05, 1);
    for (let count = 0; count < 100; count += 1) await clock.turn(50);
    await Promise.all(places);
    expect(turns.waitSeconds).toBe(0);
    expect(turns.payments).toBe(0);
  });
});
