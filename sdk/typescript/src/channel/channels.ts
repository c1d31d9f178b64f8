import type { SearchOutcome } from '../call.js';
import { ConfigurationError, type Search402Error } from '../errors.js';
import type { Hex } from '../hex.js';
import { jsonable } from '../jsonable.js';
import { readChallenge } from '../payment/challenge.js';
import { parseMoney, type Money } from '../payment/money.js';
import { sendOnce, type Answer, type Try } from '../transport.js';
import { readChannelReceipt } from './answer.js';
import type { ChannelPayer } from './channel-payer.js';
import type { Channel, ChannelStatus } from './entry.js';

/** A channel, as its payer sees it. Amounts in atomic USDC. */
export interface ChannelView {
  readonly id: Hex;
  readonly status: ChannelStatus;
  readonly network: string;
  readonly asset: Hex;
  readonly payTo: Hex;
  readonly payer: Hex;
  /** Deposited and not given back. */
  readonly balanceUnits: bigint;
  /** What searches have cost. */
  readonly chargedUnits: bigint;
  /** What is left for further searches. */
  readonly leftUnits: bigint;
  /** The price of a search when the channel was last used. */
  readonly priceUnits: bigint;
  /** Vouchers whose outcome is not known. */
  readonly inFlight: number;
  /** Seconds that it takes to withdraw the rest without the gateway. */
  readonly withdrawDelaySeconds: number;
}

/** What a channel's end gave back. */
export interface ClosedChannel {
  readonly channel: ChannelView;
  readonly refundedUnits: bigint;
  readonly transaction: string | undefined;
}

export interface ChannelsParts {
  readonly payer: ChannelPayer;
  readonly url: string;
  /** One search that opens a channel or tops it up. */
  search(depositUnits: bigint | undefined): Promise<SearchOutcome>;
  /** How requests without a search are sent. */
  readonly request: Pick<Try, 'timeoutMs'> & { readonly fetch: typeof fetch };
  errorOf(answer: Answer): Search402Error;
}

/** The channels of a wallet client at its service: one deposit each, and a voucher for each search. */
export class Channels {
  /** @internal */
  constructor(private readonly parts: ChannelsParts) {}

  /** Every channel in the store, oldest first. */
  async list(): Promise<ChannelView[]> {
    return (await this.parts.payer.channels(this.parts.url)).map(viewOf);
  }

  /**
   * Opens a channel, or tops one up, and pays for one search with it: a gateway takes no deposit
   * that buys nothing. Without this a client opens one by itself for its second search.
   * @param deposit default: what the gateway asks for
   * @throws {PaymentError} when the gateway offers no channel, or lists and caps forbid it
   */
  async open({ deposit }: { readonly deposit?: Money | undefined } = {}): Promise<ChannelView> {
    const units = deposit === undefined ? undefined : parseMoney(deposit);
    const { payment } = await this.parts.search(units);
    const opened = (await this.list()).find(({ id }) => id === payment?.channelId);
    if (!opened) throw new ConfigurationError('the store has lost the channel that was opened');
    return opened;
  }

  /**
   * Asks for what is left in each open channel, or in this one. Nothing has to be signed on chain,
   * and no gas is paid.
   * @throws {ApiError} when the gateway gives nothing back now: after `withdrawDelaySeconds` the
   *   payer can take it alone, with a transaction of its own
   */
  async close({ id }: { readonly id?: string | undefined } = {}): Promise<ClosedChannel[]> {
    const all = await this.parts.payer.channels(this.parts.url);
    const wanted = all.filter((channel) => id === undefined || channel.id === id.toLowerCase());
    if (id !== undefined && wanted.length === 0) {
      throw new ConfigurationError(`there is no channel ${id} in the store`);
    }
    const closed: ClosedChannel[] = [];
    for (const channel of wanted) {
      if (channel.status !== 'closed') closed.push(await this.#close(channel));
    }
    return closed;
  }

  async #close(channel: Channel): Promise<ClosedChannel> {
    const { payer } = this.parts;
    let answer = await this.#askBack(channel);
    if (answer.status === 402 && (await this.#agree(channel, answer))) {
      answer = await this.#askBack(await this.#latest(channel));
    }
    const receipt = readChannelReceipt(answer);
    if (answer.status !== 200 || receipt?.success !== true) throw this.parts.errorOf(answer);
    const refundedUnits = receipt.movedUnits ?? 0n;
    await payer.refunded(channel, refundedUnits, receipt.state);
    const { transaction } = receipt;
    return { channel: viewOf(await this.#latest(channel)), refundedUnits, transaction };
  }

  async #askBack(channel: Channel): Promise<Answer> {
    const { payer, request, url } = this.parts;
    const header = await payer.refund(channel);
    return await sendOnce(request.fetch, {
      timeoutMs: request.timeoutMs,
      url: url.replace(/search$/, 'channels'),
      headers: { accept: 'application/json', 'payment-signature': header },
    });
  }

  /** Takes over the gateway's count where it is another one, and can be proved. */
  async #agree(channel: Channel, { headers }: Answer): Promise<boolean> {
    const nothing = { channel, entry: { value: 0n } };
    if (!(await this.parts.payer.correct(nothing, readChallenge(headers)))) return false;
    return (await this.#latest(channel)).book.charged !== channel.book.charged;
  }

  async #latest(channel: Channel): Promise<Channel> {
    const all = await this.parts.payer.channels(this.parts.url);
    return all.find(({ id }) => id === channel.id) ?? channel;
  }
}

function viewOf({ id, status, terms, config, book }: Channel): ChannelView {
  const { network, asset, payTo, amountUnits, withdrawDelay } = terms;
  const { charged, balance, inFlight } = book;
  return jsonable({
    ...{ id, status, network, asset, payTo, payer: config.payer },
    balanceUnits: balance,
    chargedUnits: charged,
    leftUnits: balance > charged ? balance - charged : 0n,
    priceUnits: amountUnits,
    inFlight: inFlight.length,
    withdrawDelaySeconds: withdrawDelay,
  });
}
