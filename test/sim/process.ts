import type { Clock, Log, Random } from '../../gateway/ground/domain/ports.js';
import { unixMillis } from '../../gateway/ground/domain/units.js';
import type { VirtualTime } from './time.js';

/** When every world begins: 2030-01-01T00:00:00Z, in milliseconds since the Unix epoch. */
export const EPOCH_MS = 1_893_456_000_000;

/** Of a process that is dead nothing is ever heard again: no timer, no answer, no commit. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}

/** One life of a gateway process, from its start to its end or its death. */
export class SimProcess {
  #isAlive = true;
  #timers = 0;
  readonly clock: Clock;
  readonly log: Log;
  readonly #onDeath: (() => void)[] = [];

  constructor(
    readonly name: string,
    time: VirtualTime,
    readonly random: Random,
    /** Milliseconds by which the wall clock of its machine is ahead of the world's. */
    skewMs: () => number,
    write: (level: string, fields: object, message: string) => void,
  ) {
    const monotonicFromMs = 1000;
    this.clock = {
      now: () => unixMillis(Math.floor(EPOCH_MS + time.nowMs + skewMs())),
      monotonicMs: () => monotonicFromMs + time.nowMs,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) {
            resolve();
            return;
          }
          this.#timers += 1;
          const wake = () => {
            cancel();
            signal?.removeEventListener('abort', wake);
            this.#timers -= 1;
            if (this.#isAlive) resolve();
          };
          const cancel = time.after(ms, wake);
          signal?.addEventListener('abort', wake, { once: true });
        }),
      defer: (task) =>
        time.defer(() => {
          if (this.#isAlive) task();
        }),
    };
    const level = (name_: string) => (fields: object, message: string) => {
      if (this.#isAlive) write(name_, fields, message);
    };
    this.log = {
      debug: level('debug'),
      info: level('info'),
      warn: level('warn'),
      error: level('error'),
    };
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Timers that have not rung. */
  get timers(): number {
    return this.#timers;
  }

  onDeath(tell: () => void): void {
    this.#onDeath.push(tell);
  }

  /** As `kill -9` does it: between two instructions, without a word. */
  kill(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    for (const tell of this.#onDeath) tell();
  }
}
