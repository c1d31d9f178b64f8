/** Counts what was kept and what was dropped and why, with the first places of each reason. */

/** Places named for each reason, at the most. */
const PLACES_MAX = 3;

export interface Drop {
  readonly reason: string;
  readonly count: number;
  /** The first places: "line 17", a URL, "FILE record 9". */
  readonly first: readonly string[];
}

export interface Tally {
  keep(): void;
  drop(reason: string, place: string): void;
  readonly kept: number;
  readonly dropped: number;
  /** Every reason, the most frequent first. */
  drops(): Drop[];
}

/** A tally that starts from `earlier` counts, such as those of the run that this one resumes. */
export function createTally(earlier: { kept: number; drops: readonly Drop[] } = NOTHING): Tally {
  const reasons = new Map<string, { count: number; first: string[] }>();
  let kept = earlier.kept;
  let dropped = 0;
  for (const { reason, count, first } of earlier.drops) {
    reasons.set(reason, { count, first: [...first] });
    dropped += count;
  }
  return {
    keep: () => {
      kept += 1;
    },
    drop: (reason, place) => {
      const entry = reasons.get(reason) ?? { count: 0, first: [] };
      reasons.set(reason, entry);
      entry.count += 1;
      dropped += 1;
      if (entry.first.length < PLACES_MAX) entry.first.push(place);
    },
    get kept() {
      return kept;
    },
    get dropped() {
      return dropped;
    },
    drops: () =>
      [...reasons]
        .map(([reason, { count, first }]) => ({ reason, count, first }))
        .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
  };
}

const NOTHING = { kept: 0, drops: [] } as const;
