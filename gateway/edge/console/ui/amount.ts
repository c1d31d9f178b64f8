import { formatUsd, type UsdcUnits } from '../../../ground/domain/units.js';

/** Atomic USDC as dollars with cents at the least, and never rounded to zero: `$0.00005`, `$4.10`. */
export function usd(units: UsdcUnits): string {
  const [whole = '0', fraction = ''] = formatUsd(units).split('.');
  return `$${BigInt(whole).toLocaleString('en-US')}.${fraction.padEnd(2, '0')}`;
}

/** The same for a sum that may be below zero, such as a margin. */
export function signedUsd(units: bigint): string {
  const size = units < 0n ? -units : units;
  return `${units < 0n ? '−' : ''}${usd(size as UsdcUnits)}`;
}

/** A whole number with its unit in the right form: `1 key`, `2,000 keys`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** A share of a whole in percent; `0 %` of nothing, and what is there is never shown as none. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %';
  const share = (100 * part) / whole;
  if (share < 1) return '< 1 %';
  return `${share > 99 && part < whole ? 99 : Math.round(share)} %`;
}
