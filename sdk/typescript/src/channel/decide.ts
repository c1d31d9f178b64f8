import { nextValue, type Book, type InFlight } from './book.js';
import type { Deposit } from './signed.js';

/** More vouchers than this are never out at once: gateways take as many by default. */
const WINDOW = 64;
/** What was out for this long is waited for no more: the process that had it has ended. */
const ABANDONED_MS = 10 * 60 * 1000;
const DEPOSIT_ABANDONED_MS = 2 * 60 * 1000;
/** A signed deposit that nobody took is used again while it is good for this long. */
const SPARE_SECONDS_MIN = 60;

/** What a request may do with a channel now. */
export type Decision =
  /** This request has a voucher already: that one is sent again. */
  | { readonly kind: 'same'; readonly entry: InFlight }
  | { readonly kind: 'take'; readonly value: bigint }
  /** The channel holds too little. */
  | { readonly kind: 'deposit'; readonly value: bigint }
  /** A deposit is on its way, or as many vouchers are out as may be. */
  | { readonly kind: 'wait' };

/**
 * Decides for a request. `isKnown` is false while nobody has told what the channel holds: then one
 * voucher asks, and everybody else waits for its answer.
 */
export function decide(
  book: Book,
  isKnown: boolean,
  { body, price }: { readonly body: string; readonly price: bigint },
): Decision {
  const entry = book.inFlight.find((one) => one.body === body);
  if (entry) return { kind: 'same', entry };
  if (book.inFlight.length >= WINDOW) return { kind: 'wait' };
  const value = nextValue(book, price);
  if (!isKnown) return book.inFlight.length === 0 ? { kind: 'take', value } : { kind: 'wait' };
  if (value <= book.balance) return { kind: 'take', value };
  const isOnItsWay = book.inFlight.some(({ deposit }) => deposit !== undefined);
  return isOnItsWay ? { kind: 'wait' } : { kind: 'deposit', value };
}

/**
 * Gives up what other processes have left behind. It may have been charged, and its deposit taken:
 * where that is wrong, the gateway's next correction says so.
 */
export function dropAbandoned(book: Book, nowMs: number): Book {
  const isOver = ({ atMs, deposit }: InFlight) =>
    nowMs - atMs > (deposit ? DEPOSIT_ABANDONED_MS : ABANDONED_MS);
  const over = book.inFlight.filter(isOver);
  if (over.length === 0) return book;
  return {
    ...book,
    balance: over.reduce((sum, one) => sum + (one.deposit?.amountUnits ?? 0n), book.balance),
    inFlight: book.inFlight.filter((one) => !isOver(one)),
    used: [...book.used, ...over.map(({ value }) => value)],
  };
}

/** The deposit that was signed and not taken, while it can still be. */
export function spareOf(
  { spare }: Book,
  nowSeconds: number,
  unitsMin: bigint,
): Deposit | undefined {
  if (!spare || spare.amountUnits < unitsMin) return undefined;
  return spare.validBefore - nowSeconds >= SPARE_SECONDS_MIN ? spare : undefined;
}
