import type { Clock, Log } from '../ground/domain/ports.js';

/** Chores that are done again and again until the service stops. */
interface Housekeeping {
  /** Does a task every so often; what it throws is logged, and it is tried again. */
  every(ms: number, what: string, task: () => Promise<unknown>): void;
  /** Resolves when the tasks under way have ended. */
  stop(): Promise<void>;
}

export function startHousekeeping(clock: Clock, log: Log): Housekeeping {
  const end = new AbortController();
  const chores: Promise<void>[] = [];
  const repeat = async (everyMs: number, what: string, task: () => Promise<unknown>) => {
    while (!end.signal.aborted) {
      await clock.sleep(everyMs, end.signal);
      await task().catch((error: unknown) => log.error({ err: error }, `${what} failed`));
    }
  };
  return {
    every: (ms, what, task) => void chores.push(repeat(ms, what, task)),
    stop: async () => {
      end.abort();
      await Promise.all(chores);
    },
  };
}
