import type { Clock } from '../domain/ports.js';

/** Those who wait for news of a payment, in this process. */
export class Waiters {
  readonly #waiting = new Map<string, Set<AbortController>>();

  constructor(private readonly clock: Pick<Clock, 'sleep'>) {}

  /** Resolves at the next news of this payment, or after `ms`. */
  async news(paymentId: string, ms: number): Promise<void> {
    const wake = new AbortController();
    const others = this.#waiting.get(paymentId) ?? new Set();
    this.#waiting.set(paymentId, others.add(wake));
    await this.clock.sleep(ms, wake.signal);
    others.delete(wake);
    if (others.size === 0) this.#waiting.delete(paymentId);
  }

  /** Tells everyone who waits for this payment to look at the books. */
  announce(paymentId: string): void {
    for (const wake of this.#waiting.get(paymentId) ?? []) wake.abort();
  }
}
