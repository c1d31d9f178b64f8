/**
 * When the next block is due, learned from when blocks showed up. Chains of constant block time
 * keep their phase, so the time of one arrival tells every later one; polling just then costs one
 * call per block instead of many.
 */
export class BlockPace {
  /** A monotonic time, in ms, at which some block could be seen. */
  #phaseMs: number | undefined;

  constructor(
    /** Milliseconds from block to block; 0 when blocks come with the transactions. */
    private readonly blockTimeMs: number,
  ) {}

  /** A block that is `ageMs` old was seen at `nowMs`: a first guess, before anything was learned. */
  suppose(nowMs: number, ageMs: number): void {
    this.#phaseMs ??= nowMs - ageMs;
  }

  /**
   * A poll at `nowMs` found what it looked for. When it was the first poll of its block, the
   * block may have been there for a while: look a little earlier next time.
   */
  hit(nowMs: number, isFirstPoll: boolean): void {
    const earlier = isFirstPoll ? EARLIER_MS : 0;
    this.#phaseMs = nowMs - earlier;
  }

  /** Milliseconds to wait before the first poll for something that was sent at `nowMs`. */
  untilNextBlock(nowMs: number): number {
    if (this.blockTimeMs === 0) return AUTOMINE_POLL_MS;
    const phase = this.#phaseMs ?? nowMs;
    const into = (((nowMs - phase) % this.blockTimeMs) + this.blockTimeMs) % this.blockTimeMs;
    return Math.max(this.blockTimeMs - into, 1);
  }

  /** Milliseconds to wait after the given number of polls found nothing, 1 for the first. */
  afterMiss(misses: number): number {
    const again = FIRST_RETRY_MS * 2 ** Math.min(misses - 1, 10);
    return Math.min(again, this.blockTimeMs || 1000);
  }
}

const EARLIER_MS = 20;
const FIRST_RETRY_MS = 40;
const AUTOMINE_POLL_MS = 15;
