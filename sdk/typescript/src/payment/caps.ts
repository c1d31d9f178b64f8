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
}

export interface CapUnits {
  readonly maxPerRequest: bigint;
  readonly maxPerDay: bigint;
  readonly maxTotal: bigint | undefined;
}

/** @throws {RangeError} for an amount that cannot be read */
export function parseCaps(caps: Caps): CapUnits {
  return {
    maxPerRequest: parseMoney(caps.maxPerRequest ?? '0.01'),
    maxPerDay: parseMoney(caps.maxPerDay ?? '1'),
    maxTotal: caps.maxTotal === undefined ? undefined : parseMoney(caps.maxTotal),
  };
}

/** @throws {CapExceededError} when `amount` on top of what counts already exceeds a cap */
export function assertWithinCaps(caps: CapUnits, spent: Spent, amount: bigint): void {
  check('maxPerRequest', caps.maxPerRequest, 0n, amount);
  check('maxPerDay', caps.maxPerDay, spent.dayUnits, amount);
  if (caps.maxTotal !== undefined) check('maxTotal', caps.maxTotal, spent.totalUnits, amount);
}

function check(
  cap: 'maxPerRequest' | 'maxPerDay' | 'maxTotal',
  limit: bigint,
  before: bigint,
  amount: bigint,
): void {
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
