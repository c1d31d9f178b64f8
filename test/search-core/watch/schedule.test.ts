import { describe, expect, test } from '@jest/globals';
import {
  type History,
  nextInterval,
  NO_HISTORY,
  withLook,
} from '../../../search-core/ingest/watch/schedule.js';

const HOUR = 3_600;
const LIMITS = { intervalSecondsMin: HOUR, intervalSecondsMax: 720 * HOUR };

/** The interval at which looks at a page settle that changes every so many seconds. */
function settled(everySeconds: number, limits = LIMITS): number {
  let history: History = NO_HISTORY;
  let at = 0;
  let sum = 0;
  for (let look = 0; look < 400; look += 1) {
    const interval = nextInterval(history, limits);
    const isChanged = Math.floor((at + interval) / everySeconds) > Math.floor(at / everySeconds);
    history = withLook(history, interval, isChanged);
    at += interval;
    if (look >= 200) sum += interval;
  }
  return sum / 200;
}

describe('the time between two looks', () => {
  test.each([6, 24, 100])('comes near that between two changes: %s hours', (hours) => {
    const found = settled(hours * HOUR) / HOUR;
    expect(found).toBeGreaterThan(hours / 3);
    expect(found).toBeLessThan(hours * 3);
  });

  test('stays within its limits', () => {
    expect(settled(60)).toBeLessThan(1.6 * HOUR);
    expect(settled(1e12)).toBe(720 * HOUR);
    expect(nextInterval(NO_HISTORY, LIMITS)).toBe(24 * HOUR);
  });

  test('follows a page that changes its habits within some twenty looks', () => {
    let history: History = NO_HISTORY;
    for (let look = 0; look < 100; look += 1) history = withLook(history, 24 * HOUR, false);
    expect(nextInterval(history, LIMITS)).toBe(48 * HOUR);
    for (let look = 0; look < 20; look += 1) history = withLook(history, 24 * HOUR, true);
    expect(nextInterval(history, LIMITS)).toBeLessThan(16 * HOUR);
  });
});
