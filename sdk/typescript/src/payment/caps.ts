import { CapExceededError } from '../errors.js';
import { formatUsd, parseMoney, type Money } from './money.js';
import { counts, type PaymentRecord } from './record.js';

const DAY_MS = 24 * 60 * 60 * 1000;

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

/** What counts towards the caps: within 24 hours, and in all. */
export function spent(
  records: Iterable<PaymentRecord>,
  nowMs: number,
): { dayUnits: bigint; totalUnits: bigint } {
  let dayUnits = 0n;
  let totalUnits = 0n;
  for (const record of records) {
    if (!counts(record, nowMs)) continue;
    totalUnits += record.amountUnits;
    if (record.createdAtMs > nowMs - DAY_MS) dayUnits += record.amountUnits;
  }
  return { dayUnits, totalUnits };
}

/** @throws {CapExceededError} when `amount` on top of what counts already exceeds a cap */
export function assertWithinCaps(
  caps: CapUnits,
  records: Iterable<PaymentRecord>,
  amount: bigint,
  nowMs: number,
): void {
  const { dayUnits, totalUnits } = spent(records, nowMs);
  check('maxPerRequest', caps.maxPerRequest, 0n, amount);
  check('maxPerDay', caps.maxPerDay, dayUnits, amount);
  if (caps.maxTotal !== undefined) check('maxTotal', caps.maxTotal, totalUnits, amount);
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
