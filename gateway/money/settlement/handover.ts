import type { Payment } from '../ledger/payment.js';
import type { SettlementParts } from './parts.js';

/** What the settlement does with payments that other gateways have served. */
export interface Carrier {
  /** Whether it holds a relayer key. */
  holdsKey(): boolean;
  /** How many more payments it may take over now. */
  room(): number;
  takeUp(payment: Payment): Promise<void>;
}

/** What the log says of payments that were served by a gateway without a relayer key. */
export const TAKEN_OVER = 'took over payments of a gateway without a relayer key';

/**
 * Lets gateways without a relayer key of their own take payments all the same. They leave what they
 * have served in the books; the gateway that holds a key looks there several times a second.
 */
export class Handover {
  readonly #leaving = new AbortController();
  #rounds: Promise<void> | undefined;
  #waiting = 0;

  constructor(
    private readonly parts: SettlementParts,
    private readonly carrier: Carrier,
  ) {}

  /**
   * Payments of all gateways that waited for a transaction when the books were last read; kept up
   * while this gateway holds no key.
   */
  get waiting(): number {
    return this.#waiting;
  }

  /** Nothing happens where no other process can use the database. */
  start(): void {
    if (!this.parts.books.handover.isAlone) this.#rounds = this.#makeRounds();
  }

  async stop(): Promise<void> {
    this.#leaving.abort();
    await this.#rounds;
  }

  async #makeRounds(): Promise<void> {
    const { clock, log, settings } = this.parts;
    const { signal } = this.#leaving;
    for (;;) {
      await clock.sleep(settings.handoverMs, signal);
      if (signal.aborted) return;
      try {
        await this.#round();
      } catch (error) {
        log.warn({ error: String(error) }, 'could not look for payments of other gateways');
      }
    }
  }

  async #round(): Promise<void> {
    const { books, chain, ledger, log } = this.parts;
    if (!this.carrier.holdsKey()) {
      this.#waiting = await books.handover.waiting();
      return;
    }
    const room = this.carrier.room();
    if (room <= 0) return;
    const taken = await books.handover.takeOver(chain.chainId, ledger.owner, room);
    if (taken.length > 0) log.info({ payments: taken.length }, TAKEN_OVER);
    for (const payment of taken) await this.carrier.takeUp(payment);
  }
}
