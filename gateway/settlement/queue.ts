import type { Payment } from '../ledger/payment.js';
import { transferGas } from './calls.js';

/** Served payments that wait for a transaction, the closest deadline first. */
export class PaymentQueue {
  readonly #waiting = new Map<string, Payment>();

  get size(): number {
    return this.#waiting.size;
  }

  has(paymentId: string): boolean {
    return this.#waiting.has(paymentId);
  }

  add(payment: Payment): void {
    this.#waiting.set(payment.id, payment);
  }

  remove(paymentId: string): void {
    this.#waiting.delete(paymentId);
  }

  /** Takes out as many as may share one transaction, those first whose time runs out first. */
  take(limits: { batchPaymentsMax: number; batchGasMax: bigint }): Payment[] {
    const byDeadline = [...this.#waiting.values()].sort(
      (a, b) => a.authorization.validBefore - b.authorization.validBefore,
    );
    const batch: Payment[] = [];
    let gas = 0n;
    for (const payment of byDeadline) {
      gas += transferGas(payment.authorization);
      const isFull = batch.length >= limits.batchPaymentsMax || gas > limits.batchGasMax;
      if (isFull && batch.length > 0) break;
      batch.push(payment);
    }
    for (const payment of batch) this.#waiting.delete(payment.id);
    return batch;
  }
}
