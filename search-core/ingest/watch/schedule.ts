/**
 * When to look at a page again: by how often it was found changed. Changes are taken for a Poisson
 * process, and its rate is estimated from looks that only tell whether there was at least one
 * (J. Cho, H. Garcia-Molina, "Estimating Frequency of Change", ACM TOIT 3(3), 2003, formula 10).
 */

/** What looks at a page have shown. */
export interface History {
  /** Looks after the first one. */
  readonly looks: number;
  /** Those that found a change. */
  readonly changes: number;
  /** Seconds that they cover together. */
  readonly spanSeconds: number;
}

export interface ScheduleLimits {
  readonly intervalSecondsMin: number;
  readonly intervalSecondsMax: number;
}

export const NO_HISTORY: History = { looks: 0, changes: 0, spanSeconds: 0 };

/** Older looks count half once there are so many, so that a page may change its habits. */
const LOOKS_MAX = 12;
/** The first interval, before anything is known. */
const FIRST_INTERVAL_SECONDS = 24 * 3600;

/** The history with one more look, `seconds` after the last. */
export function withLook(history: History, seconds: number, isChanged: boolean): History {
  const share = history.looks >= LOOKS_MAX ? 0.5 : 1;
  return {
    looks: history.looks * share + 1,
    changes: history.changes * share + (isChanged ? 1 : 0),
    spanSeconds: history.spanSeconds * share + Math.max(0, seconds),
  };
}

/** Seconds until the next look: about the mean time between two changes, within the limits. */
export function nextInterval(
  { looks, changes, spanSeconds }: History,
  { intervalSecondsMin, intervalSecondsMax }: ScheduleLimits,
): number {
  const within = (seconds: number): number =>
    Math.round(Math.min(intervalSecondsMax, Math.max(intervalSecondsMin, seconds)));
  if (looks === 0 || spanSeconds === 0) return within(FIRST_INTERVAL_SECONDS);
  const changesPerLook = -Math.log((looks - changes + 0.5) / (looks + 0.5));
  // Nothing was ever found changed: twice the mean interval so far.
  if (changes === 0) return within((2 * spanSeconds) / looks);
  return within(spanSeconds / looks / changesPerLook);
}
