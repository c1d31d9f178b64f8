/**
 * Knows within two seconds whether a database server answers, by asking it a trifle over a
 * connection of its own, and again at once when somebody had trouble with it.
 */
export interface Watch {
  /** Undefined while the server answers, else what is wrong with it, for the operator. */
  readonly problem: string | undefined;
  /** Rises whenever the server is back: connections from before are not to be trusted. */
  readonly generation: number;
  /** Somebody's connection broke: a reason to look now. */
  suspect(): void;
  /**
   * Resolves with true as soon as the server answers. While it is away, the first ones wait for a
   * restart to be over; once it is away for longer than `patienceMs`, everybody hears false at once.
   */
  isUp(patienceMs: number): Promise<boolean>;
  stop(): Promise<void>;
}

export interface WatchParts {
  /** Rejects when the server does not answer as it should, in time. */
  readonly look: () => Promise<void>;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly monotonicMs: () => number;
  /** Told when the server is lost, with why, and when it is back. */
  readonly onChange: (change: Change) => void;
}

export type Change =
  | { readonly kind: 'lost'; readonly error: unknown }
  | { readonly kind: 'back'; readonly awayMs: number };

/** Between two looks, in milliseconds; with the deadline of a look (a second) below two seconds. */
const EVERY_MS = 500;
/** Looks follow each other no faster than this, however many have trouble. */
const AT_LEAST_MS = 50;

export function startWatch(parts: WatchParts): Watch {
  const { look, sleep, monotonicMs, onChange } = parts;
  const stopping = new AbortController();
  let wake = new AbortController();
  let down: { readonly sinceMs: number; readonly problem: string } | undefined;
  let generation = 0;
  /** Those who wait for the next look to end. */
  let waiting: (() => void)[] = [];

  const learn = (error?: unknown) => {
    const nowMs = monotonicMs();
    if (error !== undefined) {
      const problem = error instanceof Error ? error.message : 'it does not answer';
      if (!down) onChange({ kind: 'lost', error });
      down = { sinceMs: down?.sinceMs ?? nowMs, problem };
    } else if (down) {
      generation += 1;
      onChange({ kind: 'back', awayMs: Math.round(nowMs - down.sinceMs) });
      down = undefined;
    }
    for (const resume of waiting.splice(0)) resume();
  };

  const watch = async () => {
    while (!stopping.signal.aborted) {
      wake = new AbortController();
      await look().then(
        () => {
          learn();
        },
        (error: unknown) => {
          if (!stopping.signal.aborted) learn(error ?? 'unknown');
        },
      );
      await sleep(AT_LEAST_MS, stopping.signal);
      await sleep(down ? EVERY_MS / 4 : EVERY_MS, wake.signal);
    }
    for (const resume of waiting.splice(0)) resume();
  };
  const running = watch();

  return {
    get problem() {
      return down?.problem;
    },
    get generation() {
      return generation;
    },
    suspect: () => {
      wake.abort();
    },
    isUp: async (patienceMs) => {
      while (down && !stopping.signal.aborted) {
        if (monotonicMs() - down.sinceMs >= patienceMs) return false;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
      return !down;
    },
    stop: async () => {
      stopping.abort();
      wake.abort();
      waiting.forEach((resume) => {
        resume();
      });
      waiting = [];
      await running;
    },
  };
}
