import { PaymentNotAllowedError } from '../errors.js';
import type { Hex } from '../hex.js';
import type { PaymentOptions } from './payer.js';
import type { PaymentStore } from './store-view.js';

/**
 * Holds each service to the payee that it was first paid at: another one may be somebody who has put
 * himself between. A list of payees, or a caller who approves each quote, decides instead.
 */
export class KnownPayees {
  /** The first payee of each service in the store. */
  #first: Promise<Map<string, Hex>> | undefined;

  constructor(
    private readonly options: Pick<PaymentOptions, 'payees' | 'approve'>,
    private readonly store: Pick<PaymentStore, 'list'>,
  ) {}

  /** @throws {PaymentNotAllowedError} when the service was paid at another address before */
  async check(url: string, payTo: Hex): Promise<void> {
    if (this.options.payees !== undefined || this.options.approve !== undefined) return;
    this.#first ??= this.#read();
    const first = await this.#first.catch((error: unknown) => {
      this.#first = undefined;
      throw error;
    });
    const known = first.get(url) ?? payTo;
    if (known !== payTo) {
      throw new PaymentNotAllowedError(
        `the service asks for payment to ${payTo}, and was paid at ${known} before; nothing was ` +
          'signed. If you trust the new address, name it in payment.payees',
      );
    }
    first.set(url, known);
  }

  async #read(): Promise<Map<string, Hex>> {
    const first = new Map<string, Hex>();
    for (const { url, payTo, status } of await this.store.list()) {
      // What was never signed says nothing.
      if (status !== 'released' && !first.has(url)) first.set(url, payTo);
    }
    return first;
  }
}
