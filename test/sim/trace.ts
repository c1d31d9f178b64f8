import { createHash } from 'node:crypto';

/** How often each fault and each outcome occurred. */
export type Counts = Map<string, number>;

/** What happened in one world, in order: hashed, counted, and shown where somebody wants to see it. */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly counts: Counts = new Map();

  constructor(
    private readonly nowMs: () => number,
    private readonly show?: (line: string) => void,
  ) {}

  /** One event; the same seed makes the same ones at the same times. */
  event(what: string, ...about: readonly (string | number | bigint)[]): void {
    const line = `${this.nowMs().toFixed(3)} ${what} ${about.join(' ')}`;
    this.#hash.update(line).update('\n');
    this.show?.(line);
  }

  /** One event that is counted under its name. */
  count(what: string, ...about: readonly (string | number | bigint)[]): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
    this.event(what, ...about);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}
