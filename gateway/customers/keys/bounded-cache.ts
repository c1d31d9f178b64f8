/** A map of at most `sizeMax` entries that forgets each after `ttlMs`; the oldest makes room. */
export class BoundedCache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly untilMs: number }>();

  constructor(
    readonly sizeMax: number,
    readonly ttlMs: number,
  ) {}

  get(name: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined) return undefined;
    if (nowMs < entry.untilMs) return entry.value;
    this.#entries.delete(name);
    return undefined;
  }

  set(name: string, value: Value, nowMs: number): void {
    this.#entries.delete(name);
    this.#entries.set(name, { value, untilMs: nowMs + this.ttlMs });
    if (this.#entries.size <= this.sizeMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }

  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}
