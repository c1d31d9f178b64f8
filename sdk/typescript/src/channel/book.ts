/**
 * What a payer knows of one channel, and which value it signs next. Pure.
 *
 * A gateway takes a voucher of an unused value while
 *
 *     charged + price × (1 + requests in flight) ≤ highest signed ≤ charged + window
 *
 * so that requests in flight need distinct values, and may arrive in any order. Values are reused
 * when their search has failed; where all that are due are used, one just below them will do. So
 * no more is signed than the searches that run can cost.
 */

import type { Deposit } from './signed.js';

/** A voucher whose outcome is not known. */
export interface InFlight {
  readonly value: bigint;
  /** What it pays for: the gateway binds a value to its first request. */
  readonly body: string;
  /** When it was set aside; milliseconds since the Unix epoch. */
  readonly atMs: number;
  /** The deposit that goes with it. */
  readonly deposit?: Deposit;
}

export interface Book {
  /** What the searches have cost, as far as their answers have come. */
  readonly charged: bigint;
  /** The highest value that was ever signed. */
  readonly highest: bigint;
  /** The highest count that a receipt has told: receipts may come in another order than charges. */
  readonly seen: bigint;
  /** Deposited, and not given back. */
  readonly balance: bigint;
  readonly inFlight: readonly InFlight[];
  /** Values above `charged` that have bought something. */
  readonly used: readonly bigint[];
  /** A deposit that was signed and, as far as is known, not taken: the next one. */
  readonly spare?: Deposit;
}

export const EMPTY_BOOK: Book = {
  charged: 0n,
  highest: 0n,
  seen: 0n,
  balance: 0n,
  inFlight: [],
  used: [],
};

/** The value that the next request signs, when it costs `price`. */
export function nextValue(book: Book, price: bigint): bigint {
  const { charged, highest, inFlight, used } = book;
  const taken = new Set([...used, ...inFlight.map(({ value }) => value)]);
  const due = charged + price * BigInt(inFlight.length + 1);
  for (let value = due; value > charged; value -= price) {
    if (value > highest || !taken.has(value)) return value;
  }
  for (let value = due; value > charged; value -= 1n) {
    if (!taken.has(value)) return value;
  }
  return highest + price;
}

/** Sets a value aside, before anything is signed. */
export function setAside(book: Book, entry: InFlight): Book {
  return {
    ...book,
    highest: max(book.highest, entry.value),
    inFlight: [...book.inFlight, entry],
  };
}

/** What a gateway says of a channel. */
export interface Said {
  readonly charged: bigint;
  readonly balance: bigint;
}

/**
 * The search of this value was answered and cost this much; its deposit is in the channel. Where
 * nothing else is out, the gateway's count is taken over: it cannot claim more than was signed, and
 * its newest receipt has everything that was charged.
 */
export function charge(book: Book, value: bigint, units: bigint, said?: Said): Book {
  const entry = book.inFlight.find((one) => one.value === value);
  if (!entry) return book;
  const rest = without(book, value);
  const isAlone = rest.inFlight.length === 0;
  const isCredible = said !== undefined && said.charged <= book.highest;
  const isNewest = isCredible && said.charged >= book.seen;
  const seen = isNewest ? said.charged : book.seen;
  const charged = isAlone && isCredible ? seen : book.charged + units;
  const deposited = book.balance + (entry.deposit?.amountUnits ?? 0n);
  return {
    ...rest,
    charged,
    seen,
    balance: isNewest && (isAlone || entry.deposit) ? said.balance : deposited,
    used: [...book.used, value].filter((one) => one > charged),
  };
}

/** The search of this value failed, and cost nothing: the value is free again, and its deposit. */
export function release(book: Book, value: bigint): Book {
  const spare = book.inFlight.find((one) => one.value === value)?.deposit ?? book.spare;
  return { ...without(book, value), ...(spare && { spare }) };
}

/**
 * What the gateway says instead of taking `refused`, where the payer's own signature proves it
 * (`highest`) or where nothing was signed. The refused value may have bought something. What the
 * gateway cannot show it has never seen: it is not counted on.
 */
export function adopt(
  book: Book,
  said: Said & { readonly highest: bigint },
  refused: bigint,
): Book {
  const rest = release(book, refused);
  return {
    ...rest,
    charged: said.charged,
    seen: said.charged,
    highest: rest.inFlight.reduce((top, { value }) => max(top, value), said.highest),
    balance: said.balance,
    used: [...book.used, refused].filter((one) => one > said.charged),
  };
}

function without(book: Book, value: bigint): Book {
  return { ...book, inFlight: book.inFlight.filter((one) => one.value !== value) };
}

const max = (a: bigint, b: bigint) => (a > b ? a : b);
