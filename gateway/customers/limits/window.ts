/**
 * At most `limit` admissions in any span of one window, whenever the span begins.
 *
 * A bucket that holds a second's worth of tokens and refills at the rate lets nearly twice the
 * rate through in its first second, and a counter per calendar second does so across the second's
 * border. Remembering the last `limit` admissions does not: the next one is admitted when the
 * oldest of them has left the window. It costs eight bytes per admission and constant time.
 */
export class SlidingWindow {
  /** Times of the last admissions, ascending from `#oldest`, wrapping around. */
  readonly #times: Float64Array;
  #oldest = 0;

  /** `limit`: admissions in any half-open span of `windowMs`, at least 1. */
  constructor(
    readonly limit: number,
    readonly windowMs: number,
  ) {
    this.#times = new Float64Array(limit).fill(-Infinity);
  }

  /** Milliseconds from `nowMs` until one more can be admitted; 0 when it can be now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#at(0) + this.windowMs - nowMs);
  }

  /** Counts one admission. The caller has seen that `waitMs` is 0. */
  take(nowMs: number): void {
    this.#times[this.#oldest] = nowMs;
    this.#oldest = (this.#oldest + 1) % this.limit;
  }

  /** How many more can be admitted at `nowMs`. */
  remaining(nowMs: number): number {
    let low = 0;
    let high = this.limit;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle) + this.windowMs <= nowMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Milliseconds until all of the limit is free again. */
  resetMs(nowMs: number): number {
    return Math.max(0, this.#at(this.limit - 1) + this.windowMs - nowMs);
  }

  /** The admission times, oldest first: what a window of another size takes over. */
  *times(): Iterable<number> {
    for (let index = 0; index < this.limit; index++) yield this.#at(index);
  }

  #at(index: number): number {
    return this.#times[(this.#oldest + index) % this.limit] ?? -Infinity;
  }
}

/** The same history under another limit: raising or lowering a rate admits nothing twice. */
export function resized(window: SlidingWindow, limit: number): SlidingWindow {
  const next = new SlidingWindow(limit, window.windowMs);
  for (const time of window.times()) if (time !== -Infinity) next.take(time);
  return next;
}
