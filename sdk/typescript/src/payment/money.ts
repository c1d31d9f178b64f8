/** Dollars as text (`'0.01'`, at most six decimals) or atomic USDC as a bigint (`10_000n`). */
export type Money = string | bigint;

/**
 * Atomic USDC (six decimals, 1 USD = 1_000_000n).
 * @throws {RangeError} for anything but a non-negative amount with at most six decimals
 */
export function parseMoney(money: Money): bigint {
  if (typeof money === 'bigint') {
    if (money < 0n) throw new RangeError('an amount of money cannot be negative');
    return money;
  }
  const match = /^\$?([0-9]{1,15})(?:\.([0-9]{1,6}))?$/.exec(money);
  if (!match) throw new RangeError(`"${money}" is not a dollar amount such as "0.01"`);
  const [, whole = '0', fraction = ''] = match;
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

/** Atomic USDC as dollars without trailing zeros: `50n` is `0.00005`. */
export function formatUsd(units: bigint): string {
  const digits = units.toString().padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -6) : `${digits.slice(0, -6)}.${fraction}`;
}
