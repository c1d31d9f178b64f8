import type { PaymentView } from '../errors.js';
import type { Hex } from '../hex.js';
import { assertDepositWithinCaps, type CapUnits } from '../payment/caps.js';
import type { PaymentRecord } from '../payment/record.js';
import type { PaymentStore } from '../payment/store-view.js';
import type { Runtime } from '../runtime.js';
import { setAside } from './book.js';
import { decide, dropAbandoned, type Decision } from './decide.js';
import { channelOf, channelsIn, newChannel, recordOf, type Channel } from './entry.js';
import { depositNonce, type Deposit } from './signed.js';
import type { ChannelTerms } from './terms.js';

/** Channels and their deposits in the store of the payments: each change is one step. */
export class ChannelLedger {
  #waiting: (() => void)[] = [];

  constructor(
    private readonly store: PaymentStore,
    private readonly runtime: Runtime,
    private readonly tell: (view: PaymentView) => void,
  ) {}

  /** The channels of this payer at this address, oldest first. */
  async all(url: string, payer: Hex): Promise<readonly Channel[]> {
    return await this.store.read((view) => channelsIn(view, url, payer));
  }

  async find(id: Hex): Promise<Channel | undefined> {
    const record = await this.store.read((view) => view.get(id));
    return record && channelOf(record);
  }

  /**
   * Decides for a request, and sets its value aside where it may go on: with `deposit` also where
   * the channel holds too little.
   */
  async decide(
    url: string,
    body: string,
    terms: ChannelTerms,
    payer: Hex,
    deposit?: Deposit,
  ): Promise<{ readonly decision: Decision; readonly channel: Channel }> {
    const nowMs = this.runtime.nowMs();
    const fresh = newChannel(url, terms, payer, nowMs);
    let decision: Decision = { kind: 'wait' };
    let channel = fresh;
    await this.store.update((view) => {
      const record = view.get(fresh.id);
      const before = record ? channelOf(record) : fresh;
      const book = dropAbandoned(before.book, nowMs);
      const isKnown = before.status === 'open';
      channel = { ...before, terms, book };
      decision = decide(book, isKnown, { body, price: terms.amountUnits });
      const isCarrier = decision.kind === 'deposit' && deposit !== undefined;
      if (decision.kind !== 'take' && !isCarrier) return undefined;
      const { value } = decision as { readonly value: bigint };
      const entry = { value, body, atMs: nowMs, ...(isCarrier && { deposit }) };
      const { spare, ...rest } = setAside(book, entry);
      const keeps = spare !== undefined && !(isCarrier && spare.salt === deposit.salt);
      const status = isKnown ? 'open' : 'unknown';
      channel = { ...channel, status, book: { ...rest, ...(keeps && { spare }) } };
      return recordOf(channel);
    });
    return { decision, channel };
  }

  /** Changes a channel, and wakes whoever waits for that in this process. */
  async change(id: Hex, change: (channel: Channel) => Channel): Promise<void> {
    await this.store.update((view) => {
      const record = view.get(id);
      return record && recordOf(change(channelOf(record)));
    });
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Resolves when a channel has changed in this process. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Counts a deposit towards the caps, before it is signed.
   * @throws {CapExceededError} when it does not fit
   */
  async reserveDeposit(channel: Channel, deposit: Deposit, caps: CapUnits): Promise<void> {
    const { id, url, terms, config, book } = channel;
    const { network, asset, payTo } = terms;
    const { amountUnits, validBefore, salt } = deposit;
    const nowMs = this.runtime.nowMs();
    const unspent = book.balance > book.charged ? book.balance - book.charged : 0n;
    await this.store.update((view) => {
      assertDepositWithinCaps(caps, view.spent(nowMs), unspent, amountUnits);
      return {
        ...{ id: depositNonce(id, salt), status: 'signing', url, network, asset, payTo },
        ...{ payer: config.payer, amountUnits, createdAtMs: nowMs, validBefore, channelId: id },
      };
    });
  }

  /** Books what becomes of a deposit: what was signed counts for ever, whoever says otherwise. */
  async closeDeposit(
    channelId: Hex,
    { salt }: Deposit,
    status: 'open' | 'paid' | 'released',
    transaction?: string,
  ): Promise<void> {
    const stored = await this.store.update((view) => {
      const record = view.get(depositNonce(channelId, salt));
      const isOver = !record || record.status === status || record.status === 'paid';
      if (isOver || (status === 'released' && record.status !== 'signing')) return undefined;
      return { ...record, status, ...(transaction !== undefined && { transaction }) };
    });
    if (stored && status !== 'released') this.tell(viewOf(stored));
  }
}

function viewOf({ header: _, body: __, ...view }: PaymentRecord): PaymentView {
  return view;
}
