import type { Clock } from '../domain/ports.js';

/** Milliseconds for which statements may hold the event loop before everything else gets a turn. */
const SLICE_MS = 4;

/**
 * SQLite runs each statement within one call, so a batch of writes would hold the event loop from its
 * first statement to its commit. Asked before each statement, this makes it pause in between.
 */
export class Slices {
  /** When the first statement of this round of the event loop began. */
  #sinceMs: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'defer' | 'monotonicMs'>) {}

  /** Resolves in the next round when this one's time is used up; undefined while it is not. */
  pause(): Promise<void> | undefined {
    const nowMs = this.clock.monotonicMs();
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs;
      this.clock.defer(() => (this.#sinceMs = undefined));
    }
    if (nowMs - this.#sinceMs < SLICE_MS) return undefined;
    return new Promise((resolve) => this.clock.defer(resolve));
  }
}
