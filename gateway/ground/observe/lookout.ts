import type { Clock, Log } from '../domain/ports.js';
import type { PartHealth } from './health.js';

/** Looks at a part of the service again and again, whether anybody uses it or not. */
export interface Lookout {
  /** What the last look found. */
  health(): PartHealth;
  /** Resolves when it was looked at for the first time, whatever was found. */
  readonly looked: Promise<void>;
  /** Somebody else saw a fault: it counts until the next look. */
  suspect(fault: string): void;
  stop(): Promise<void>;
}

export interface LookoutParts {
  /** What is looked at, for the log. */
  readonly name: string;
  /** Rejects when the part cannot do its work; the signal aborts when the look takes too long. */
  readonly look: (signal: AbortSignal) => Promise<void>;
  /** Milliseconds between looks, and for one look. */
  readonly everyMs: number;
  readonly deadlineMs: number;
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly log: Log;
}

/** A part that is frozen says nothing: it is found within `everyMs` and `deadlineMs` together. */
export function startLookout(parts: LookoutParts): Lookout {
  const { name, clock, log, everyMs, deadlineMs } = parts;
  const stopping = new AbortController();
  const isStopped = () => stopping.signal.aborted;
  let fault: string | undefined;
  let sinceMs = clock.monotonicMs();

  const learn = (found: string | undefined) => {
    if ((found === undefined) !== (fault === undefined)) {
      const nowMs = clock.monotonicMs();
      if (found === undefined) log.info({ awayMs: Math.round(nowMs - sinceMs) }, `${name} is back`);
      else log.error({ fault: found }, `${name} does not answer as it should`);
      sinceMs = nowMs;
    }
    fault = found;
  };

  const lookAndLearn = async () => {
    const found = await lookOnce(parts, deadlineMs);
    if (!isStopped()) learn(found);
  };
  const looked = lookAndLearn();
  const watch = async () => {
    await looked;
    while (!isStopped()) {
      await clock.sleep(everyMs, stopping.signal);
      if (!isStopped()) await lookAndLearn();
    }
  };
  const watching = watch();

  return {
    health: () => (fault === undefined ? { ready: true } : { ready: false, detail: fault }),
    looked,
    suspect: (found) => learn(found),
    stop: async () => {
      stopping.abort();
      await watching;
    },
  };
}

/** What is wrong, or undefined. Never takes longer than the deadline. */
async function lookOnce(
  { look, clock, name }: LookoutParts,
  deadlineMs: number,
): Promise<string | undefined> {
  const over = new AbortController();
  const late = clock.sleep(deadlineMs, over.signal).then(() => {
    if (!over.signal.aborted) over.abort();
    return `${name} did not answer in ${deadlineMs} ms`;
  });
  const found = look(over.signal).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  try {
    return await Promise.race([found, late]);
  } finally {
    over.abort();
  }
}
