import { resized, SlidingWindow } from './window.js';

/**
 * Sliding windows by name, at most `namesMax` of them. The one that was used longest ago makes
 * room for a new one; it starts afresh should its name come back, which matters only to whoever
 * can use more names within one window than there is room for.
 */
export class Windows {
  readonly #byName = new Map<string, SlidingWindow>();

  constructor(
    readonly windowMs: number,
    readonly namesMax: number,
  ) {}

  get(name: string, limit: number): SlidingWindow {
    const known = this.#byName.get(name);
    const window = known
      ? known.limit === limit
        ? known
        : resized(known, limit)
      : new SlidingWindow(limit, this.windowMs);
    this.#byName.delete(name); // set again below: a Map keeps the order of insertion
    this.#byName.set(name, window);
    if (this.#byName.size > this.namesMax) {
      const [oldest] = this.#byName.keys();
      if (oldest !== undefined) this.#byName.delete(oldest);
    }
    return window;
  }

  get size(): number {
    return this.#byName.size;
  }
}
