import type { Clock } from '../ground/domain/ports.js';

/** A payment's place among those that are worked on. */
export interface Place {
  /** How long it has waited for its turn. */
  readonly waitedSeconds: number;
  /** The payment needs no work for now; leaving twice is harmless. */
  leave(): void;
}

/** Payments that are worked on at the same time: enough to fill several questions to the chain. */
const ACTIVE_MAX = 128;
/**
 * Rounds of the event loop between two turns. Node accepts one connection in a round (libuv's
 * `uv__server_io`), so with one check in each, bystanders' connections would wait for the crowd's.
 */
export const LOOPS_BETWEEN = 16;
/** Milliseconds from one turn to the next, before a crowd has shown what it really is. */
const TURN_MS = 5;
/** How much the latest turn counts in what the next ones are expected to take. */
const WEIGHT = 0.1;

/**
 * Lets payments come up one after another, so that a crowd of them does not hold up those who do
 * not pay. A payment's check takes the processor for a while: between two of them everything else
 * gets its turn, and so do connections that wait to be accepted.
 */
export class Turns {
  readonly #queue: (() => void)[] = [];
  #active = 0;
  #isStarting = false;
  #turnMs = TURN_MS;
  /** When the last payment came up with others behind it. */
  #crowdedAtMs: number | undefined;

  constructor(private readonly clock: Pick<Clock, 'defer' | 'monotonicMs'>) {}

  /** Payments that are worked on, and those that wait to come up. */
  get payments(): number {
    return this.#active + this.#queue.length;
  }

  /** Payments that are worked on. */
  get active(): number {
    return this.#active;
  }

  /** Seconds until a payment that comes now comes up, as far as the last ones tell. */
  get waitSeconds(): number {
    return (this.#queue.length * this.#turnMs) / 1000;
  }

  /** Resolves when it is this payment's turn. */
  async take(): Promise<Place> {
    const cameAtMs = this.clock.monotonicMs();
    await new Promise<void>((resolve) => {
      this.#queue.push(resolve);
      this.#startNext();
    });
    const waitedSeconds = (this.clock.monotonicMs() - cameAtMs) / 1000;
    let isHeld = true;
    return {
      waitedSeconds,
      leave: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#active -= 1;
        this.#startNext();
      },
    };
  }

  #startNext(): void {
    if (this.#isStarting || this.#queue.length === 0 || this.#active >= ACTIVE_MAX) return;
    this.#isStarting = true;
    this.#afterLoops(LOOPS_BETWEEN, () => {
      this.#isStarting = false;
      const start = this.#queue.shift();
      if (!start) return;
      this.#active += 1;
      this.#learn();
      start();
      this.#startNext();
    });
  }

  #afterLoops(loops: number, task: () => void): void {
    this.clock.defer(loops > 1 ? () => this.#afterLoops(loops - 1, task) : task);
  }

  /** Times between turns tell how fast a crowd gets through; a lone payment tells nothing. */
  #learn(): void {
    const nowMs = this.clock.monotonicMs();
    if (this.#crowdedAtMs !== undefined) {
      this.#turnMs += WEIGHT * (nowMs - this.#crowdedAtMs - this.#turnMs);
    }
    this.#crowdedAtMs = this.#queue.length > 0 ? nowMs : undefined;
  }
}
