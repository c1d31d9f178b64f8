import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { resized, SlidingWindow } from '../../../gateway/customers/limits/window.js';

/** The most admissions in any half-open span of `windowMs`. */
function densest(times: readonly number[], windowMs: number): number {
  return Math.max(
    0,
    ...times.map((start) => times.filter((at) => at >= start && at < start + windowMs).length),
  );
}

const limits = fc.integer({ min: 1, max: 30 });
/** Gaps between requests: bursts, steady streams, and gaps at the very edge of the window. */
const gaps = fc.array(
  fc.oneof(
    fc.constant(0),
    fc.constant(1000),
    fc.integer({ min: 0, max: 60 * 1024 }).map((steps) => steps / 1024), // exact in binary
    fc.integer({ min: 900, max: 1100 }),
  ),
  { maxLength: 300 },
);

function admitted(window: SlidingWindow, steps: readonly number[]): number[] {
  const times: number[] = [];
  let nowMs = 0;
  for (const step of steps) {
    nowMs += step;
    if (window.waitMs(nowMs) > 0) continue;
    window.take(nowMs);
    times.push(nowMs);
  }
  return times;
}

describe('sliding window', () => {
  test('no one-second span holds more than the limit, whenever it begins', () => {
    fc.assert(
      fc.property(limits, gaps, (limit, steps) => {
        const times = admitted(new SlidingWindow(limit, 1000), steps);
        expect(densest(times, 1000)).toBeLessThanOrEqual(limit);
      }),
    );
  });

  test('nothing is refused that would keep to the limit', () => {
    fc.assert(
      fc.property(limits, gaps, (limit, steps) => {
        const window = new SlidingWindow(limit, 1000);
        const times: number[] = [];
        let nowMs = 0;
        for (const step of steps) {
          nowMs += step;
          const inWindow = times.filter((at) => at > nowMs - 1000).length;
          expect(window.waitMs(nowMs) === 0).toBe(inWindow < limit);
          expect(window.remaining(nowMs)).toBe(limit - inWindow);
          if (inWindow >= limit) continue;
          window.take(nowMs);
          times.push(nowMs);
        }
      }),
    );
  });

  test('whoever waits as long as told is admitted, and not a moment sooner', () => {
    fc.assert(
      fc.property(limits, gaps, (limit, steps) => {
        const window = new SlidingWindow(limit, 1000);
        const nowMs = Math.ceil(steps.reduce((sum, step) => sum + step, 0));
        for (let count = 0; count < limit; count++) window.take(nowMs);
        const waitMs = window.waitMs(nowMs);
        expect(waitMs).toBe(1000);
        expect(window.waitMs(nowMs + waitMs - 1)).toBeGreaterThan(0);
        expect(window.waitMs(nowMs + waitMs)).toBe(0);
      }),
    );
  });

  test('a changed limit does not forget what was admitted', () => {
    fc.assert(
      fc.property(limits, limits, gaps, gaps, (before, after, first, second) => {
        const window = new SlidingWindow(before, 1000);
        const times = admitted(window, first);
        const start = first.reduce((sum, step) => sum + step, 0);
        const next = resized(window, after);
        let nowMs = start;
        const later: number[] = [];
        for (const step of second) {
          nowMs += step;
          if (next.waitMs(nowMs) > 0) continue;
          next.take(nowMs);
          later.push(nowMs);
        }
        for (const at of later) {
          const span = [...times, ...later].filter((time) => time > at - 1000 && time <= at);
          expect(span.length).toBeLessThanOrEqual(after);
        }
      }),
    );
  });
});
