import { PaymentError, type PaymentView } from '../errors.js';
import type { Runtime } from '../runtime.js';
import {
  paymentHeader,
  randomNonce,
  serverSeconds,
  transferAuthorization,
} from './authorization.js';
import { assertWithinCaps, parseCaps, type Caps, type CapUnits } from './caps.js';
import { chooseRequirement, type AllowLists, type Challenge } from './challenge.js';
import type { PaymentRecord, Quote } from './record.js';
import { MemoryStore, type PaymentStore } from './store.js';
import { signTyped, walletAddress, type Wallet } from './wallet.js';

/** How a client may pay. */
export interface PaymentOptions extends Caps, AllowLists {
  /** Where payments are remembered; default in memory. Use a durable one to survive restarts. */
  readonly store?: PaymentStore | undefined;
  /** Asked before each signature; a false answer is a refusal to pay. */
  readonly approve?: ((quote: Quote) => boolean | Promise<boolean>) | undefined;
  /** Told of each signed payment (`open`) and of each outcome. What it throws is ignored. */
  readonly onPayment?: ((payment: PaymentView) => void) | undefined;
}

/** A signed payment, ready to be sent, as often as it takes. */
export interface OpenPayment {
  readonly record: PaymentRecord;
  readonly header: string;
  /** Whether another call, or an earlier run of the program, signed it and may have sent it. */
  readonly shared: boolean;
}

/** The request that a payment is for: the gateway binds an authorization to its first request. */
export interface PaidRequest {
  readonly url: string;
  readonly body: string;
}

/** A record without what could be spent, and without what was asked. */
export function viewOf(record: PaymentRecord): PaymentView {
  const view: PaymentView & { header?: string; body?: string } = { ...record };
  delete view.header;
  delete view.body;
  return view;
}

/** Signs within limits and remembers, so that one search is never paid twice. */
export class Payer {
  readonly store: PaymentStore;
  readonly #caps: CapUnits;
  /** The signing that is under way for a request; others for the same request wait for it. */
  readonly #signing = new Map<string, Promise<OpenPayment>>();

  constructor(
    private readonly wallet: Wallet,
    private readonly options: PaymentOptions,
    private readonly runtime: Runtime,
  ) {
    this.#caps = parseCaps(options);
    this.store = options.store ?? new MemoryStore();
  }

  /** The payment of this wallet for this very request whose outcome is not known, if any. */
  async openFor(request: PaidRequest): Promise<OpenPayment | undefined> {
    const records = await this.store.list();
    const candidates = records.filter(
      ({ status, url, body }) => status === 'open' && url === request.url && body === request.body,
    );
    if (candidates.length === 0) return undefined;
    const payer = await walletAddress(this.wallet);
    const record = candidates.find((one) => one.payer === payer);
    return record?.header === undefined
      ? undefined
      : { record, header: record.header, shared: true };
  }

  /**
   * Signs one payment for a request, or returns the one that is open for it by now.
   * It is durable in the store before it is returned, hence before it can be sent.
   * @throws {PaymentError} when a list, a cap, the caller or the wallet refuses
   */
  async sign(request: PaidRequest, challenge: Challenge, headers: Headers): Promise<OpenPayment> {
    const key = `${request.url}\n${request.body}`;
    const pending = this.#signing.get(key);
    if (pending) return { ...(await pending), shared: true };
    const signing = this.#openOrSign(request, challenge, headers);
    this.#signing.set(key, signing);
    try {
      return await signing;
    } finally {
      this.#signing.delete(key);
    }
  }

  async #openOrSign(
    request: PaidRequest,
    challenge: Challenge,
    headers: Headers,
  ): Promise<OpenPayment> {
    const open = await this.openFor(request);
    if (open) return open;
    const requirement = chooseRequirement(challenge, this.options);
    const { amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds } = requirement;
    const quote: Quote = { amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds };
    const payer = await walletAddress(this.wallet);
    if (this.options.approve && !(await this.options.approve(quote))) {
      throw new PaymentError('the caller did not approve the payment; nothing was signed');
    }
    const nowMs = this.runtime.nowMs();
    const validBefore = serverSeconds(headers, nowMs) + maxTimeoutSeconds;
    const reserved: PaymentRecord = {
      id: randomNonce(this.runtime),
      status: 'signing',
      ...request,
      ...{ network, asset, payer, payTo, amountUnits, createdAtMs: nowMs, validBefore },
    };
    await this.store.update((records) => {
      assertWithinCaps(this.#caps, records.values(), amountUnits, nowMs);
      return reserved;
    });
    const data = transferAuthorization(requirement, payer, reserved.id, validBefore);
    try {
      const signature = await signTyped(this.wallet, data);
      const header = paymentHeader(requirement, data, signature);
      const record: PaymentRecord = { ...reserved, status: 'open', header };
      await this.store.update(() => {
        // Past its window it is of no use, and soon it stops counting towards the caps.
        if (this.runtime.nowMs() - nowMs >= maxTimeoutSeconds * 1000) {
          throw new PaymentError('the wallet took longer to sign than the payment is valid');
        }
        return record;
      });
      this.#tell(record);
      return { record, header, shared: false };
    } catch (error) {
      await this.close(reserved, 'released');
      throw error;
    }
  }

  /** Records an outcome; the signed header is forgotten. */
  async close(
    record: PaymentRecord,
    status: 'paid' | 'refused' | 'released',
    more: { transaction?: string; reason?: string } = {},
  ): Promise<PaymentView> {
    const closed: PaymentRecord = { ...viewOf(record), status, ...more };
    const changes: (PaymentRecord | undefined)[] = [];
    await this.store.update((records) => {
      // Two calls may share a payment: `paid` is never taken back, and nothing is told twice.
      const before = records.get(record.id)?.status;
      changes[0] = before === 'paid' || before === status ? undefined : closed;
      return changes[0];
    });
    if (changes[0] && status !== 'released') this.#tell(closed);
    return closed;
  }

  #tell(record: PaymentRecord): void {
    try {
      this.options.onPayment?.(viewOf(record));
    } catch {
      // A hook cannot undo a payment.
    }
  }
}
