import type { Clock } from '../../ground/domain/ports.js';
import { countedNames } from './address.js';
import { SlidingWindow } from './window.js';
import { Windows } from './windows.js';

/**
 * The searches that the front page gives away: so many a day for each address, so few a second for
 * all of them together that those who pay do not notice. Kept in memory: a start begins anew.
 */
export interface FreeSearches {
  /** Of one address; 0 where none are given away. */
  readonly perDay: number;
  /** How many an address has left. */
  remaining(address: string): number;
  /** Takes one, unless the address has used its own up or all addresses ask too much at once. */
  take(address: string): FreeOutcome;
}

export type FreeOutcome = 'taken' | 'used-up' | 'busy';

const DAY_MS = 24 * 3600 * 1000;
const SECOND_MS = 1000;
/** Free searches of all addresses in any second. */
const PER_SECOND_MAX = 5;
const NAMES_MAX = 20_000;

export function freeSearches(clock: Clock, perDay: number): FreeSearches {
  if (perDay === 0) return { perDay, remaining: () => 0, take: () => 'used-up' };
  const windows = new Windows(DAY_MS, NAMES_MAX);
  const everyone = new SlidingWindow(PER_SECOND_MAX, SECOND_MS);
  const windowsOf = (address: string) =>
    countedNames(address).map(({ name, share }) => windows.get(name, Math.ceil(perDay * share)));
  return {
    perDay,
    remaining(address) {
      const nowMs = clock.monotonicMs();
      return Math.min(...windowsOf(address).map((window) => window.remaining(nowMs)));
    },
    take(address) {
      const nowMs = clock.monotonicMs();
      const own = windowsOf(address);
      if (own.some((window) => window.waitMs(nowMs) > 0)) return 'used-up';
      if (everyone.waitMs(nowMs) > 0) return 'busy';
      for (const window of [...own, everyone]) window.take(nowMs);
      return 'taken';
    },
  };
}
