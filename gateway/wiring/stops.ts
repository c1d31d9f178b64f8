import type { Clock, Log } from '../ground/domain/ports.js';

/** What was started, to be stopped in the opposite order. */
export interface Stops {
  /** `leftMs` says how long everything together may still take. */
  add(name: string, stop: (leftMs: () => number) => unknown): void;
  /** Remembers how to stop what this start comes to. */
  keep<T extends { stop(): Promise<void> }>(name: string, starting: Promise<T>): Promise<T>;
  /** Stops everything, once; a part that fails to stop does not keep the others from it. */
  run(): Promise<void>;
}

/** @param totalMs for all parts together: they wait for the same requests and payments. */
export function createStops(log: Log, clock: Pick<Clock, 'monotonicMs'>, totalMs: number): Stops {
  const stops: { name: string; stop: (leftMs: () => number) => unknown }[] = [];
  const add: Stops['add'] = (name, stop) => {
    stops.push({ name, stop });
  };
  return {
    add,
    keep: async (name, starting) => {
      const part = await starting;
      add(name, () => part.stop());
      return part;
    },
    run: async () => {
      const endsMs = clock.monotonicMs() + totalMs;
      const leftMs = () => Math.max(0, endsMs - clock.monotonicMs());
      for (let last = stops.pop(); last; last = stops.pop()) {
        try {
          await last.stop(leftMs);
        } catch (error) {
          log.error({ err: error, part: last.name }, 'a part did not stop cleanly');
        }
      }
    },
  };
}
