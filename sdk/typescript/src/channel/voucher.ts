import type { Hex } from '../hex.js';
import type { Quote } from '../payment/record.js';
import type { ChannelReceipt } from './answer.js';
import type { Book, InFlight } from './book.js';
import type { Channel } from './entry.js';
import type { ChannelTerms } from './terms.js';

/** A voucher that is ready to be sent, as often as it takes. */
export interface Voucher {
  readonly channel: Channel;
  readonly entry: InFlight;
  readonly header: string;
  /** Whether another call, or an earlier run of the program, may have sent it. */
  readonly shared: boolean;
}

/** How one search takes its voucher. */
export interface TakeOptions {
  /** The last answer's: its clock dates a deposit. */
  readonly headers: Headers;
  readonly signal: AbortSignal | undefined;
  /** What a deposit brings at least; by default what the gateway asks for. */
  readonly depositUnits?: bigint | undefined;
}

/** A deposit buys this many searches at least, where the gateway's minimum does not say more. */
const SEARCHES_PER_DEPOSIT = 100n;
/** A receipt's state, where it is this channel's. */
export function ownState(id: Hex, receipt: ChannelReceipt | undefined) {
  const state = receipt?.state;
  return state?.channelId.toLowerCase() === id ? state : undefined;
}

/** What is put into a channel at a time: what the gateway asks for, or a hundred searches. */
export function depositUnitsOf({ amountUnits, minDepositUnits }: ChannelTerms): bigint {
  return max(minDepositUnits, amountUnits * SEARCHES_PER_DEPOSIT);
}

export function withoutSpare({ spare: _, ...book }: Book): Book {
  return book;
}

export function quoteOf(terms: ChannelTerms): Quote {
  const { amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds } = terms;
  return { amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds };
}

export const max = (a: bigint, b: bigint) => (a > b ? a : b);
