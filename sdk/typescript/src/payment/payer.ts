import { ChannelPayer } from '../channel/channel-payer.js';
import { AbortedError, PaymentError, type PaymentView } from '../errors.js';
import { serverSeconds } from '../clock.js';
import { jsonable } from '../jsonable.js';
import type { Runtime } from '../runtime.js';
import { paymentHeader, randomNonce, transferAuthorization } from './authorization.js';
import { assertWithinCaps, DEPOSIT_DEFAULT, parseCaps, type Caps, type CapUnits } from './caps.js';
import {
  chooseRequirement,
  quoteOf,
  type AllowLists,
  type Challenge,
  type Requirement,
} from './challenge.js';
import { inquire, type InquiryOptions, type Learned } from './inquiry.js';
import type { PaymentRecord, Quote } from './record.js';
import type { PaymentStore, StoreView } from './store-view.js';
import { signTyped, walletAddress, type Wallet } from './wallet.js';

/** How a client may pay. */
export interface PaymentOptions extends Caps, AllowLists {
  /**
   * Where payments are remembered. Default: a file of the user's under Node, Bun and Deno, so that
   * open payments and caps survive a restart; in memory in browsers.
   */
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
  return jsonable(view);
}

/** Others wait this long for a signature before they take the request over. */
const SIGNING_MS_MAX = 60_000;
const SIGNING_POLL_MS = 50;

/** Signs within limits and remembers, so that one search is never paid twice. */
export class Payer {
  readonly #caps: CapUnits;
  /** Pays through channels, out of the same wallet, caps and store. */
  readonly channels: ChannelPayer;
  /** Whether this client has paid for a search: whoever searches again may want a channel. */
  hasPaid = false;
  /** The signing that is under way for a request; others for the same request wait for it. */
  readonly #signing = new Map<string, Promise<OpenPayment>>();

  constructor(
    private readonly wallet: Wallet,
    private readonly options: PaymentOptions,
    readonly store: PaymentStore,
    private readonly runtime: Runtime,
  ) {
    this.#caps = parseCaps(options);
    this.channels = new ChannelPayer(wallet, options, store, runtime);
  }

  /** The same wallet, store and budgets for packs: searches paid ahead, up to `maxDeposit`. */
  forPacks(): Payer {
    const maxPerRequest = this.options.maxDeposit ?? DEPOSIT_DEFAULT;
    return new Payer(this.wallet, { ...this.options, maxPerRequest }, this.store, this.runtime);
  }

  /** The payment of this wallet for this very request whose outcome is not known, if any. */
  async openFor(request: PaidRequest): Promise<OpenPayment | undefined> {
    const pending = await this.store.read((view) => view.pending(request.url, request.body));
    if (!pending.some(({ status }) => status === 'open')) return undefined;
    return asOpen(findOpen(pending, await walletAddress(this.wallet)));
  }

  /**
   * Signs one payment for a request, or returns the one that is open for it by now, in whichever
   * process. It is durable in the store before it is returned, hence before it can be sent.
   * @throws {PaymentError} when a list, a cap, the caller or the wallet refuses
   */
  async sign(
    request: PaidRequest,
    challenge: Challenge,
    { headers, signal }: { readonly headers: Headers; readonly signal: AbortSignal | undefined },
  ): Promise<OpenPayment> {
    const key = `${request.url}\n${request.body}`;
    const pending = this.#signing.get(key);
    if (pending) return { ...(await pending), shared: true };
    const signing = this.#openOrSign(request, challenge, headers, signal);
    this.#signing.set(key, signing);
    try {
      return await signing;
    } finally {
      this.#signing.delete(key);
    }
  }

  /**
   * Asks the gateway what became of a payment.
   * @throws {SigningError} when the wallet does not sign the question
   */
  async inquire(
    { record, header }: OpenPayment,
    options: Omit<InquiryOptions, 'nowSeconds'> & { readonly headers: Headers },
  ): Promise<Learned> {
    const nowSeconds = serverSeconds(options.headers, this.runtime.nowMs());
    return await inquire(this.wallet, { ...record, header }, { ...options, nowSeconds });
  }

  async #openOrSign(
    request: PaidRequest,
    challenge: Challenge,
    headers: Headers,
    signal: AbortSignal | undefined,
  ): Promise<OpenPayment> {
    const open = await this.openFor(request);
    if (open) return open;
    const requirement = chooseRequirement(challenge, this.options);
    const { amountUnits, network, asset, payTo, maxTimeoutSeconds } = requirement;
    const quote = quoteOf(requirement);
    const payer = await walletAddress(this.wallet);
    if (this.options.approve && !(await this.options.approve(quote))) {
      throw new PaymentError('the caller did not approve the payment; nothing was signed');
    }
    for (;;) {
      const nowMs = this.runtime.nowMs();
      const validBefore = serverSeconds(headers, nowMs) + maxTimeoutSeconds;
      const wanted: PaymentRecord = {
        id: randomNonce(this.runtime),
        status: 'signing',
        ...request,
        ...{ network, asset, payer, payTo, amountUnits, createdAtMs: nowMs, validBefore },
      };
      let other: PaymentRecord | undefined;
      const reserved = await this.store.update((view) => {
        other = pendingOf(view, wanted);
        if (other) return undefined;
        assertWithinCaps(this.#caps, view.spent(nowMs), amountUnits);
        return wanted;
      });
      if (reserved) return await this.#signReserved(requirement, reserved);
      const found = asOpen(other);
      if (found) return found;
      if (other) await this.#waitForSigner(other, signal);
    }
  }

  async #signReserved(requirement: Requirement, reserved: PaymentRecord): Promise<OpenPayment> {
    const { payer, id, validBefore, createdAtMs } = reserved;
    const data = transferAuthorization(requirement, payer, id, validBefore);
    try {
      const signature = await signTyped(this.wallet, data);
      const header = paymentHeader(requirement, data, signature);
      const record: PaymentRecord = { ...reserved, status: 'open', header };
      await this.store.update((view) => {
        // Past its window it is of no use, and soon it stops counting towards the caps.
        if (this.runtime.nowMs() - createdAtMs >= requirement.maxTimeoutSeconds * 1000) {
          throw new PaymentError('the wallet took longer to sign than the payment is valid');
        }
        // Somebody else pays for the request by now: this signature never leaves the process.
        if (view.get(id)?.status !== 'signing') {
          throw new PaymentError('the wallet took so long that another process paid instead');
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

  /**
   * Another process is asking its wallet. A signer that was killed has sent nothing, because what
   * it signs has to be recorded first: after a while its request is taken over.
   */
  async #waitForSigner(other: PaymentRecord, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) throw new AbortedError('the call was aborted');
    if (this.runtime.nowMs() - other.createdAtMs < SIGNING_MS_MAX) {
      await this.runtime.sleep(SIGNING_POLL_MS, signal);
      return;
    }
    await this.store.update((view) => {
      const { body: _, ...rest } = other;
      return view.get(other.id)?.status === 'signing' ? { ...rest, status: 'released' } : undefined;
    });
  }

  /** Records an outcome; the signed header is forgotten. */
  async close(
    record: PaymentRecord,
    status: 'paid' | 'refused' | 'released',
    more: { transaction?: string; reason?: string } = {},
  ): Promise<PaymentView> {
    if (status === 'paid') this.hasPaid = true;
    const closed: PaymentRecord = { ...viewOf(record), status, ...more };
    const stored = await this.store.update((view) => {
      // Two calls may share a payment: `paid` is never taken back, and nothing is told twice.
      const before = view.get(record.id)?.status;
      return before === 'paid' || before === status ? undefined : closed;
    });
    if (stored && status !== 'released') this.#tell(closed);
    return jsonable(closed);
  }

  #tell(record: PaymentRecord): void {
    try {
      this.options.onPayment?.(viewOf(record));
    } catch {
      // A hook cannot undo a payment.
    }
  }
}

function findOpen(pending: readonly PaymentRecord[], payer: string): PaymentRecord | undefined {
  return pending.find((one) => one.status === 'open' && one.payer === payer);
}

/** What stands in the way of a new payment for the same request: the open one, or its signing. */
function pendingOf(view: StoreView, { url, body = '', payer }: PaymentRecord) {
  const pending = view.pending(url, body);
  return findOpen(pending, payer) ?? pending.find((one) => one.payer === payer);
}

function asOpen(record: PaymentRecord | undefined): OpenPayment | undefined {
  return record?.header === undefined ? undefined : { record, header: record.header, shared: true };
}
