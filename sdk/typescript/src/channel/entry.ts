import { isObject } from '../payment/base64.js';
import { PaymentError } from '../errors.js';
import type { Hex } from '../hex.js';
import { readChannelTerms } from '../payment/challenge.js';
import type { PaymentRecord } from '../payment/record.js';
import type { StoreView } from '../payment/store-view.js';
import { EMPTY_BOOK, type Book, type InFlight } from './book.js';
import type { Deposit } from './signed.js';
import { channelIdOf, configOf, type ChannelConfig, type ChannelTerms } from './terms.js';

/** What the record of a channel has in the place of a request body. */
export const CHANNEL_BODY = 'channel';

/**
 * Where a channel stands, as far as this side knows.
 * - `unknown`: nobody has asked the gateway yet what it holds.
 * - `open`: it is paid with.
 * - `stopped`: the gateway takes no vouchers of it now, because a withdrawal or a refund is under way.
 * - `closed`: what was left was given back. A deposit opens it again.
 */
export type ChannelStatus = 'unknown' | 'open' | 'stopped' | 'closed';

/** A channel as it is remembered. */
export interface Channel {
  readonly id: Hex;
  readonly url: string;
  readonly config: ChannelConfig;
  /** The terms under which it was opened: the next search needs no challenge. */
  readonly terms: ChannelTerms;
  readonly status: ChannelStatus;
  readonly createdAtMs: number;
  /** Since when it is `stopped`. */
  readonly stoppedAtMs?: number;
  readonly book: Book;
}

/** A channel that nothing is known of yet. */
export function newChannel(
  url: string,
  terms: ChannelTerms,
  payer: Hex,
  createdAtMs: number,
): Channel {
  const config = configOf(terms, payer);
  const id = channelIdOf(config, terms.chainId);
  return { id, url, config, terms, status: 'unknown', createdAtMs, book: EMPTY_BOOK };
}

/** The record that keeps a channel, in the store of the payments. */
export function recordOf(channel: Channel): PaymentRecord {
  const { id, url, terms, config, status, createdAtMs, stoppedAtMs, book } = channel;
  const { accepted, resource, network, asset, payTo } = terms;
  const state = { status, config, accepted, resource, stoppedAtMs, book };
  return {
    ...{ id, status: 'open', url, body: CHANNEL_BODY, network, asset, payTo, createdAtMs },
    payer: config.payer,
    amountUnits: 0n,
    validBefore: 0,
    channel: JSON.stringify(state, (_name, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    ),
  };
}

/**
 * The channel that a record keeps.
 * @throws {PaymentError} when it cannot be read: nothing is signed on top of damage
 */
export function channelOf({ id, url, createdAtMs, channel = '' }: PaymentRecord): Channel {
  try {
    const state = JSON.parse(channel) as Record<string, unknown>;
    const terms = readChannelTerms(state.accepted, state.resource);
    if (!terms || !isObject(state.book) || !isObject(state.config)) throw new Error('it is cut');
    const config = state.config as unknown as ChannelConfig;
    const status = state.status as ChannelStatus;
    const stopped = state.stoppedAtMs;
    const since = typeof stopped === 'number' ? { stoppedAtMs: stopped } : {};
    const book = readBook(state.book);
    return { id, url, config, terms, status, createdAtMs, ...since, book };
  } catch (error) {
    throw new PaymentError(`the record of channel ${id} is damaged; nothing was signed`, {
      cause: error,
    });
  }
}

function readBook(value: Readonly<Record<string, unknown>>): Book {
  const amount = (name: 'charged' | 'highest' | 'seen' | 'balance') =>
    BigInt(value[name] as string);
  const deposit = (stored: unknown): Deposit => {
    const { amountUnits, ...rest } = stored as Omit<Deposit, 'amountUnits'> & {
      readonly amountUnits: string;
    };
    return { ...rest, amountUnits: BigInt(amountUnits) };
  };
  const inFlight = value.inFlight as readonly (Omit<InFlight, 'value'> & {
    readonly value: string;
  })[];
  return {
    charged: amount('charged'),
    highest: amount('highest'),
    seen: amount('seen'),
    balance: amount('balance'),
    used: (value.used as readonly string[]).map(BigInt),
    inFlight: inFlight.map((one) => ({
      ...one,
      value: BigInt(one.value),
      ...(one.deposit && { deposit: deposit(one.deposit) }),
    })),
    ...(value.spare !== undefined && { spare: deposit(value.spare) }),
  };
}

/** The channels of this payer at this address, oldest first. */
export function channelsIn(view: StoreView, url: string, payer: Hex): readonly Channel[] {
  return view
    .pending(url, CHANNEL_BODY)
    .filter((record) => record.payer === payer && record.channel !== undefined)
    .map(channelOf);
}
