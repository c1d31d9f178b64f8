import { AbortedError, PaymentError, type PaymentView } from '../errors.js';
import type { Hex } from '../hex.js';
import { serverSeconds } from '../clock.js';
import { randomNonce } from '../payment/authorization.js';
import { assertPriceWithinCap, parseCaps, type CapUnits } from '../payment/caps.js';
import { refusalOf, type Challenge } from '../payment/challenge.js';
import type { PaidRequest, PaymentOptions } from '../payment/payer.js';
import type { Quote } from '../payment/record.js';
import type { PaymentStore } from '../payment/store-view.js';
import { signTyped, walletAddress, type Wallet } from '../payment/wallet.js';
import type { Runtime } from '../runtime.js';
import { readCorrection, type ChannelReceipt } from './answer.js';
import { believe } from './believe.js';
import { adopt, charge, release, type Book, type InFlight } from './book.js';
import { ChannelLedger } from './channel-ledger.js';
import { spareOf } from './decide.js';
import type { Channel } from './entry.js';
import { depositData, refundHeader, voucherData, voucherHeader } from './signed.js';
import { channelIdOf, configOf, type ChannelTerms } from './terms.js';
import {
  depositUnitsOf,
  max,
  ownState,
  quoteOf,
  withoutSpare,
  type TakeOptions,
  type Voucher,
} from './voucher.js';

/** A store of another process is looked at this often; changes of our own wake waiters at once. */
const POLL_MS = 250;
/** So often is looked in vain, ten seconds long, before a search is paid for another way. */
const IDLE_POLLS_MAX = 40;
/** A channel that the gateway does not take is left alone for this long. */
const STOPPED_MS = 15 * 60 * 1000;

/** Pays searches by vouchers of a channel: one deposit, and then one signature for each search. */
export class ChannelPayer {
  readonly #caps: CapUnits;
  readonly #ledger: ChannelLedger;

  constructor(
    private readonly wallet: Wallet,
    private readonly options: PaymentOptions,
    store: PaymentStore,
    private readonly runtime: Runtime,
  ) {
    this.#caps = parseCaps(options);
    this.#ledger = new ChannelLedger(store, runtime, (view) => this.#tell(view));
  }

  /** The channels of this wallet at this address, oldest first. */
  async channels(url: string): Promise<readonly Channel[]> {
    return await this.#ledger.all(url, await walletAddress(this.wallet));
  }

  /** The terms of the channel that is open at this address: they need no challenge. */
  async remembered(url: string): Promise<ChannelTerms | undefined> {
    if (this.#caps.maxDeposit === 0n) return undefined;
    const open = (await this.channels(url)).filter(({ status }) => status === 'open');
    const terms = open.at(-1)?.terms;
    return terms && this.#isAllowed(terms) ? terms : undefined;
  }

  /** The terms of the channel in which a voucher for this very request is out. */
  async pending({ url, body }: PaidRequest): Promise<ChannelTerms | undefined> {
    const isOut = ({ book }: Channel) => book.inFlight.some((one) => one.body === body);
    return (await this.channels(url)).find(isOut)?.terms;
  }

  /** The terms by which this challenge can be met through a channel, within lists and caps. */
  async choose(challenge: Challenge): Promise<ChannelTerms | undefined> {
    const allowed = challenge.channels.filter(
      (terms) => this.#isAllowed(terms) && depositUnitsOf(terms) <= this.#caps.maxDeposit,
    );
    for (const terms of allowed) {
      const channel = await this.#ledger.find(await this.#idOf(terms));
      const isLeftAlone =
        channel?.status === 'stopped' &&
        this.runtime.nowMs() - (channel.stoppedAtMs ?? 0) < STOPPED_MS;
      if (!isLeftAlone) return terms;
    }
    return undefined;
  }

  #isAllowed(terms: ChannelTerms): boolean {
    const { maxDeposit, maxPerRequest } = this.#caps;
    const isInCaps = terms.amountUnits > 0n && terms.amountUnits <= maxPerRequest;
    return maxDeposit > 0n && isInCaps && refusalOf(terms, this.options) === undefined;
  }

  /**
   * Sets a value aside for a request, durably, and signs it. The same request gets the value that it
   * has already, in whichever process. Waits while a deposit is on its way that it needs; undefined
   * when nothing moves there: whoever had the voucher or the deposit has ended.
   * @throws {PaymentError} when a cap, the caller or the wallet refuses
   */
  async take(
    request: PaidRequest,
    terms: ChannelTerms,
    options: TakeOptions,
  ): Promise<Voucher | undefined> {
    assertPriceWithinCap(this.#caps, terms.amountUnits);
    const payer = await walletAddress(this.wallet);
    const { url, body } = request;
    let before: Book | undefined;
    for (let idlePolls = 0; idlePolls < IDLE_POLLS_MAX;) {
      if (options.signal?.aborted === true) throw new AbortedError('the call was aborted');
      const changed = this.#ledger.nextChange();
      const { decision, channel } = await this.#ledger.decide(url, body, terms, payer);
      if (decision.kind === 'same') return await this.#sign(channel, decision.entry, true);
      if (decision.kind === 'take') {
        const entry = channel.book.inFlight.find(({ value }) => value === decision.value);
        if (entry) return await this.#approveAndSign(channel, entry);
      }
      if (decision.kind === 'deposit') {
        const voucher = await this.#deposit(request, channel, options);
        if (voucher) return voucher;
        continue;
      }
      await Promise.race([changed, this.runtime.sleep(POLL_MS, options.signal)]);
      const isIdle = before?.charged === channel.book.charged;
      idlePolls =
        isIdle && before?.inFlight.length === channel.book.inFlight.length ? idlePolls + 1 : 0;
      before = channel.book;
    }
    return undefined;
  }

  /** Signs a deposit with the voucher that it brings; undefined when somebody else was faster. */
  async #deposit(
    request: PaidRequest,
    channel: Channel,
    { headers, depositUnits }: TakeOptions,
  ): Promise<Voucher | undefined> {
    const { id, terms, config, book } = channel;
    const nowMs = this.runtime.nowMs();
    const nowSeconds = serverSeconds(headers, nowMs);
    const spare = spareOf(book, nowSeconds, depositUnits ?? terms.minDepositUnits);
    const deposit = spare ?? {
      amountUnits: depositUnits ?? depositUnitsOf(terms),
      validBefore: nowSeconds + terms.maxTimeoutSeconds,
      salt: randomNonce(this.runtime),
    };
    const quote = { ...quoteOf(terms), depositUnits: deposit.amountUnits };
    if (!spare) await this.#ledger.reserveDeposit(channel, deposit, this.#caps);
    let entry: InFlight | undefined;
    try {
      await this.#approve(quote);
      const { url, body } = request;
      const decided = await this.#ledger.decide(url, body, terms, config.payer, deposit);
      entry = decided.channel.book.inFlight.find(
        (one) => one.deposit?.salt === deposit.salt && one.body === body,
      );
      if (entry) return await this.#sign(decided.channel, entry, false);
    } catch (error) {
      if (entry) await this.renew({ channel, entry });
      if (!spare) await this.#ledger.closeDeposit(id, deposit, 'released');
      throw error;
    }
    if (!spare) await this.#ledger.closeDeposit(id, deposit, 'released');
    return undefined;
  }

  async #approve(quote: Quote): Promise<void> {
    if (this.options.approve && !(await this.options.approve(quote))) {
      throw new PaymentError('the caller did not approve the payment; nothing was signed');
    }
  }

  async #approveAndSign(channel: Channel, entry: InFlight): Promise<Voucher> {
    try {
      await this.#approve(quoteOf(channel.terms));
      return await this.#sign(channel, entry, false);
    } catch (error) {
      await this.#ledger.change(channel.id, (one) => ({
        ...one,
        book: release(one.book, entry.value),
      }));
      throw error;
    }
  }

  async #sign(channel: Channel, entry: InFlight, shared: boolean): Promise<Voucher> {
    const { id, terms, config } = channel;
    const { deposit, value } = entry;
    const signature = await signTyped(this.wallet, voucherData(id, terms.chainId, value));
    const signed = { channelId: id, maxClaimableAmount: value, signature };
    if (!deposit) return { channel, entry, shared, header: voucherHeader(terms, config, signed) };
    const data = depositData(terms, id, config.payer, deposit);
    const authorization = { ...deposit, signature: await signTyped(this.wallet, data) };
    // From here on it may be sent, so it counts.
    await this.#ledger.closeDeposit(id, deposit, 'open');
    return { channel, entry, shared, header: voucherHeader(terms, config, signed, authorization) };
  }

  /** Books the charge of an answered search. */
  async charged(voucher: Voucher, receipt: ChannelReceipt | undefined): Promise<PaymentView> {
    const { channel, entry } = voucher;
    const { id, terms, config } = channel;
    const price = terms.amountUnits;
    const said = receipt?.chargedUnits ?? price;
    const units = said < price ? said : price;
    await this.#ledger.change(id, (one) => ({
      ...one,
      status: 'open',
      book: charge(one.book, entry.value, units, ownState(id, receipt)),
    }));
    const { transaction } = { transaction: undefined, ...receipt };
    if (entry.deposit) await this.#ledger.closeDeposit(id, entry.deposit, 'paid', transaction);
    const { network, asset, payTo } = terms;
    const view: PaymentView = {
      ...{ id: `${id}/${entry.value}`, status: 'paid', url: channel.url, network, asset, payTo },
      ...{ payer: config.payer, amountUnits: units, createdAtMs: entry.atMs, validBefore: 0 },
      ...(transaction !== undefined && { transaction }),
      channelId: id,
    };
    this.#tell(view);
    return view;
  }

  /** Books that a search failed and cost nothing. */
  async failed({ channel, entry }: Voucher): Promise<void> {
    await this.#ledger.change(channel.id, (one) => ({
      ...one,
      book: release(one.book, entry.value),
    }));
  }

  /** Books that the gateway knows nothing of the channel: it holds nothing yet. */
  async isEmpty({ channel, entry }: Voucher): Promise<void> {
    await this.#ledger.change(channel.id, (one) => ({
      ...one,
      status: 'open',
      book: { ...release(one.book, entry.value), balance: 0n },
    }));
  }

  /** Takes over what a correction proves; false when it proves nothing, and nothing changed. */
  async correct(
    { channel, entry }: { readonly channel: Channel; readonly entry: Pick<InFlight, 'value'> },
    challenge: Challenge | undefined,
  ): Promise<boolean> {
    for (const { accepted } of challenge?.channels ?? []) {
      const correction = readCorrection(accepted);
      const believed = correction && believe(channel, correction);
      if (!believed) continue;
      await this.#ledger.change(channel.id, (one) => ({
        ...one,
        status: 'open',
        book: adopt(one.book, believed, entry.value),
      }));
      return true;
    }
    return false;
  }

  /** Forgets a voucher, and a deposit, that other terms have made useless. */
  async renew({ channel, entry }: Pick<Voucher, 'channel' | 'entry'>): Promise<void> {
    await this.#ledger.change(channel.id, (one) => ({
      ...one,
      book: withoutSpare(release(one.book, entry.value)),
    }));
  }

  /** Leaves a channel alone that the gateway does not take now. */
  async stop({ channel, entry }: Voucher): Promise<void> {
    const stoppedAtMs = this.runtime.nowMs();
    await this.#ledger.change(channel.id, (one) => ({
      ...one,
      ...{ status: 'stopped', stoppedAtMs, book: withoutSpare(release(one.book, entry.value)) },
    }));
  }

  /** The header that asks for what is left in a channel, or for a part of it. */
  async refund(channel: Channel, amountUnits?: bigint): Promise<string> {
    const { id, terms, config, book } = channel;
    const data = voucherData(id, terms.chainId, book.charged);
    const signature = await signTyped(this.wallet, data);
    const voucher = { channelId: id, maxClaimableAmount: book.charged, signature };
    return refundHeader(terms, config, voucher, amountUnits);
  }

  /** Books what was given back. */
  async refunded(channel: Channel, units: bigint, state: { balance: bigint } | undefined) {
    await this.#ledger.change(channel.id, (one) => {
      const balance = state?.balance ?? max(one.book.balance - units, one.book.charged);
      const isOver = balance <= one.book.charged;
      const book = { ...withoutSpare(one.book), balance };
      return { ...one, status: isOver ? 'closed' : 'open', book };
    });
  }

  #tell(view: PaymentView): void {
    try {
      this.options.onPayment?.(view);
    } catch {
      // A hook cannot undo a payment.
    }
  }

  async #idOf(terms: ChannelTerms): Promise<Hex> {
    return channelIdOf(configOf(terms, await walletAddress(this.wallet)), terms.chainId);
  }
}
