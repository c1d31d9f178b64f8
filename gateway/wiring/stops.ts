import type { Log } from '../ground/domain/ports.js';

/** What was started, to be stopped in the opposite order. */
export interface Stops {
  add(name: string, stop: () => unknown): void;
  /** Remembers how to stop what this start comes to. */
  keep<T extends { stop(): Promise<void> }>(name: string, starting: Promise<T>): Promise<T>;
  /** Stops everything, once; a part that fails to stop does not keep the others from it. */
  run(): Promise<void>;
}

export function createStops(log: Log): Stops {
  const stops: { name: string; stop: () => unknown }[] = [];
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
      for (let last = stops.pop(); last; last = stops.pop()) {
        try {
          await last.stop();
        } catch (error) {
          log.error({ err: error, part: last.name }, 'a part did not stop cleanly');
        }
      }
    },
  };
}
