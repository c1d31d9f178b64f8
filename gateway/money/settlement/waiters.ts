import type { Clock } from '../../ground/domain/ports.js';

/** Those who wait for news of a payment, in this process. */
export class Waiters<News> {
  readonly #waiting = new Map<string, Set<AbortController>>();
  readonly #looks = new Map<string, Promise<News>>();

  constructor(private readonly clock: Pick<Clock, 'sleep'>) {}

  /** The payments that somebody waits for. */
  get paymentIds(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** Resolves at the next news of this payment, or after `ms`. */
  async news(paymentId: string, ms: number): Promise<void> {
    const wake = new AbortController();
    const others = this.#waiting.get(paymentId) ?? new Set();
    this.#waiting.set(paymentId, others.add(wake));
    await this.clock.sleep(ms, wake.signal);
    others.delete(wake);
    if (others.size === 0) this.#waiting.delete(paymentId);
  }

  /** Reads the books for a payment; those who look at the same moment share one read. */
  look(paymentId: string, read: () => Promise<News>): Promise<News> {
    const running = this.#looks.get(paymentId);
    if (running) return running;
    const look = read().finally(() => {
      if (this.#looks.get(paymentId) === look) this.#looks.delete(paymentId);
    });
    this.#looks.set(paymentId, look);
    return look;
  }

  /** Tells everyone who waits for this payment to look at the books. */
  announce(paymentId: string): void {
    // A read that began before this news may not show it.
    this.#looks.delete(paymentId);
    for (const wake of this.#waiting.get(paymentId) ?? []) wake.abort();
  }
}
