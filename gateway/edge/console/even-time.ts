import type { Clock } from '../../ground/domain/ports.js';

/** Longer than signing up takes; what takes longer still ends with the next step. */
const STEP_MS = 250;

/**
 * Does some work and waits until a whole number of steps has passed, whatever came of it: how long
 * it took says no more of what was found than the step it ended in. For answers that must not tell
 * whether an e-mail address has an account, where the work differs by a write or two.
 */
export async function inEvenTime<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs();
  try {
    return await work();
  } finally {
    const tookMs = clock.monotonicMs() - startMs;
    await clock.sleep(STEP_MS - (tookMs % STEP_MS));
  }
}
