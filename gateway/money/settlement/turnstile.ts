/** Lets so many in at the same time; the others wait, first come, first served. */
export class Turnstile {
  readonly #waiting: (() => void)[] = [];

  /** @param free how many may still come in */
  constructor(private free: number) {}

  /** Resolves when there is room; whoever was let in must leave. */
  async enter(): Promise<void> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.free += 1;
  }
}
