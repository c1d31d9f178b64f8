interface Due {
  readonly atMs: number;
  readonly run: () => void;
  isOff: boolean;
}

/** Resolves when no promise is left that could settle without time or I/O. */
const drained = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Ends a wait before its time. */
type Cancel = () => void;

/**
 * Time that moves only when nothing can go on without it. One task runs at a time, and the next one
 * only after every promise that this one could settle has settled: a native or a slow computer
 * changes nothing about the order.
 */
export class VirtualTime {
  #nowMs = 0;
  #steps = 0;
  /** Sorted by time; those of one time in the order in which they were made. */
  readonly #due: Due[] = [];
  readonly #soon: (() => void)[] = [];

  /** Milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Tasks run so far. */
  get steps(): number {
    return this.#steps;
  }

  after(ms: number, run: () => void): Cancel {
    if (!Number.isFinite(ms)) throw new RangeError(`nobody can wait for ${ms} ms`);
    const due: Due = { atMs: this.#nowMs + Math.max(ms, 0), run, isOff: false };
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#due[middle]?.atMs ?? Infinity) <= due.atMs) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, due);
    return () => {
      due.isOff = true;
    };
  }

  /** Runs a task behind those that are queued for this very moment. */
  defer(run: () => void): void {
    this.#soon.push(run);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs what is due until `isOver`, or until `endMs`; true when it was over by then. */
  async run(isOver: () => boolean, endMs: number): Promise<boolean> {
    await drained();
    while (!isOver()) {
      const task = this.#soon.shift() ?? this.#nextDue(endMs);
      if (!task) return false;
      this.#steps += 1;
      task();
      await drained();
    }
    return true;
  }

  #nextDue(endMs: number): (() => void) | undefined {
    for (let next = this.#due[0]; next && next.atMs <= endMs; next = this.#due[0]) {
      this.#due.shift();
      if (next.isOff) continue;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      return next.run;
    }
    this.#nowMs = Math.max(this.#nowMs, endMs);
    return undefined;
  }
}
