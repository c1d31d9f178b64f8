import { FewByFew } from '../../ground/few-by-few.js';
import type { TransactionHash } from '../../ground/domain/units.js';
import type { Payment, StoredReply } from '../ledger/payment.js';
import type { SettlementParts } from './parts.js';
import { Waiters } from './waiters.js';

/** What became of a served payment, as far as it is known now. */
export type SettlementOutcome =
  /**
   * The transfer is in a canonical block with the configured confirmations, or preconfirmed where
   * the operator lets that suffice.
   */
  | {
      readonly kind: 'settled';
      readonly transaction: TransactionHash;
      /** Undefined once the retention time of the reply has passed. */
      readonly reply?: StoredReply;
    }
  /** Nothing was and nothing will be transferred under this authorization by us. */
  | { readonly kind: 'failed'; readonly reason: string; readonly transaction?: TransactionHash }
  /** The search failed before anything was signed; the same authorization may be used again. */
  | { readonly kind: 'released' }
  /** Not known yet: the same payment must be sent again, never a new one. */
  | { readonly kind: 'pending'; readonly transaction?: TransactionHash };

/** What a payment's facts mean to whoever waits for it. */
export function outcomeOf(payment: Payment): SettlementOutcome {
  const { status, transaction, reply } = payment;
  switch (status) {
    case 'preconfirmed':
    case 'settled':
    case 'final':
      if (!transaction) throw new Error(`payment ${payment.id} settled without a transaction`);
      return { kind: 'settled', transaction, ...(reply && { reply }) };
    case 'failed': {
      const reason = payment.reason ?? 'invalid_exact_evm_transaction_failed';
      return { kind: 'failed', reason, ...(transaction && { transaction }) };
    }
    case 'released':
      return { kind: 'released' };
    case 'reserved':
    case 'served':
    case 'signed':
    case 'broadcast':
    case 'reorged':
      return { kind: 'pending', ...(transaction && { transaction }) };
  }
}

/** Tells those who wait what became of their payments, whoever brings it about. */
export class Outcomes {
  readonly #waiters: Waiters<Payment | undefined>;
  /** A block that settles many payments wakes all who wait for them. */
  readonly #woken: FewByFew;
  #watching: Promise<void> | undefined;

  constructor(
    private readonly parts: Pick<
      SettlementParts,
      'books' | 'clock' | 'ledger' | 'log' | 'settings'
    >,
  ) {
    this.#waiters = new Waiters(parts.clock);
    this.#woken = new FewByFew(parts.clock, 1);
  }

  /** Waits for the outcome, at most for `waitMs`; says `pending` after that. */
  async wait(paymentId: string, { waitMs }: { waitMs: number }): Promise<SettlementOutcome> {
    const { clock, ledger } = this.parts;
    const deadline = clock.monotonicMs() + waitMs;
    for (;;) {
      const payment = await this.#waiters.look(paymentId, () => ledger.get(paymentId));
      if (!payment) throw new Error(`no payment ${paymentId}`);
      const outcome = outcomeOf(payment);
      const leftMs = deadline - clock.monotonicMs();
      if (outcome.kind !== 'pending' || leftMs <= 0) return outcome;
      const news = this.#waiters.news(paymentId, leftMs);
      this.#watching ??= this.#watchBooks().finally(() => (this.#watching = undefined));
      await news;
      await this.#woken.pass();
    }
  }

  /**
   * Finds what other processes bring about: one question to the books for all who wait, however
   * many they are.
   */
  async #watchBooks(): Promise<void> {
    const { books, clock, log, settings } = this.parts;
    while (this.#waiters.paymentIds.length > 0) {
      await clock.sleep(settings.outcomePollMs);
      try {
        for (const id of await books.handover.ended(this.#waiters.paymentIds)) this.announce(id);
      } catch (error) {
        log.warn({ error: String(error) }, 'could not look for outcomes in the books');
      }
    }
  }

  /** There is news of this payment in the books. */
  announce(paymentId: string): void {
    this.#waiters.announce(paymentId);
  }
}
