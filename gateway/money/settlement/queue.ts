import type { Payment } from '../ledger/payment.js';
import { sharedGasOf } from './calls.js';

/** A payment of a payer with code, and what its transaction may use. */
export interface LonePayment {
  readonly payment: Payment;
  readonly gasLimit: bigint;
}

/**
 * Served payments that wait for a transaction, in the order in which they were taken: an order by
 * anything that payers choose would be theirs to choose.
 */
export class PaymentQueue {
  /** Plain keys: these share transactions, save those whose call failed beside others. */
  readonly #keys = new Map<string, Payment>();
  /** Payers with code: a transaction for each. */
  readonly #lone = new Map<string, LonePayment>();

  get size(): number {
    return this.#keys.size + this.#lone.size;
  }

  get hasKeys(): boolean {
    return this.#keys.size > 0;
  }

  has(paymentId: string): boolean {
    return this.#keys.has(paymentId) || this.#lone.has(paymentId);
  }

  add(payment: Payment): void {
    this.#keys.set(payment.id, payment);
  }

  addLone(payment: Payment, gasLimit: bigint): void {
    this.#lone.set(payment.id, { payment, gasLimit });
  }

  remove(paymentId: string): void {
    this.#keys.delete(paymentId);
    this.#lone.delete(paymentId);
  }

  clear(): void {
    this.#keys.clear();
    this.#lone.clear();
  }

  /** Takes out as many as may share one transaction, or one whose call failed beside others. */
  take(limits: { batchPaymentsMax: number; batchGasMax: bigint }): Payment[] {
    const waiting = [...this.#keys.values()].sort(byAge);
    const unharmed = waiting.filter(({ failedCalls }) => failedCalls === 0);
    const gasEach = sharedGasOf(waiting.map(({ authorization }) => authorization));
    const mayShare = Math.min(
      limits.batchPaymentsMax,
      Math.max(Number(limits.batchGasMax / gasEach), 1),
    );
    const batch = unharmed.length > 0 ? unharmed.slice(0, mayShare) : waiting.slice(0, 1);
    for (const payment of batch) this.#keys.delete(payment.id);
    return batch;
  }

  /** Takes out the oldest payment of a payer with code. */
  takeLone(): LonePayment | undefined {
    const [oldest] = [...this.#lone.values()].sort((a, b) => byAge(a.payment, b.payment));
    if (oldest) this.#lone.delete(oldest.payment.id);
    return oldest;
  }
}

const byAge = (a: Payment, b: Payment) => a.reservedAt - b.reservedAt;
