import { CapExceededError } from '../errors.js';
import { formatUsd, parseMoney, type Money } from './money.js';
import type { Spent } from './store-view.js';

/** The most that may be signed away. Every signature that left this process counts. */
export interface Caps {
  /** One payment; default 0.01 USD. */
  readonly maxPerRequest?: Money | undefined;
  /** All payments of any 24 hours; default 1 USD. */
  readonly maxPerDay?: Money | undefined;
  /** All payments in the store; no default. */
  readonly maxTotal?: Money | undefined;
  /**
   * What may be paid ahead, for one pack or unspent in one channel; default 0.1 USD, and 0 for neither.
   * Packs and deposits count towards the day and the total, their searches do not count again.
   */
  readonly maxDeposit?: Money | undefined;
}

export interface CapUnits {
  readonly maxPerRequest: bigint;
  readonly maxPerDay: bigint;
  readonly maxTotal: bigint | undefined;
  readonly maxDeposit: bigint;
}

/** Dollars that may be paid ahead where nobody says more. */
export const DEPOSIT_DEFAULT = '0.1';

/** @throws {RangeError} for an amount that cannot be read */
export function parseCaps(caps: Caps): CapUnits {
  return {
    maxPerRequest: parseMoney(caps.maxPerRequest ?? '0.01'),
    maxPerDay: parseMoney(caps.maxPerDay ?? '1'),
    maxTotal: caps.maxTotal === undefined ? undefined : parseMoney(caps.maxTotal),
    maxDeposit: parseMoney(caps.maxDeposit ?? DEPOSIT_DEFAULT),
  };
}

/** @throws {CapExceededError} when `amount` on top of what counts already exceeds a cap */
export function assertWithinCaps(caps: CapUnits, spent: Spent, amount: bigint): void {
  assertPriceWithinCap(caps, amount);
  assertWithinBudget(caps, spent, amount);
}

/** @throws {CapExceededError} when one search costs more than it may */
export function assertPriceWithinCap(caps: CapUnits, price: bigint): void {
  check('maxPerRequest', caps.maxPerRequest, 0n, price);
}

/** @throws {CapExceededError} when a deposit on top of `unspent` in its channel exceeds a cap */
export function assertDepositWithinCaps(
  caps: CapUnits,
  spent: Spent,
  unspent: bigint,
  deposit: bigint,
): void {
  check('maxDeposit', caps.maxDeposit, unspent, deposit);
  assertWithinBudget(caps, spent, deposit);
}

function assertWithinBudget(caps: CapUnits, spent: Spent, amount: bigint): void {
  check('maxPerDay', caps.maxPerDay, spent.dayUnits, amount);
  if (caps.maxTotal !== undefined) check('maxTotal', caps.maxTotal, spent.totalUnits, amount);
}

function check(cap: CapExceededError['cap'], limit: bigint, before: bigint, amount: bigint): void {
  if (before + amount <= limit) return;
  throw new CapExceededError(
    cap,
    limit,
    before,
    amount,
    `a payment of ${formatUsd(amount)} USD on top of ${formatUsd(before)} USD exceeds ` +
      `${cap} (${formatUsd(limit)} USD); nothing was signed`,
  );
}
