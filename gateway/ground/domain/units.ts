/**
 * The types that carry a promise. Only the parsers beside them make these values, so a function
 * that takes one does not check it again.
 */
declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** USDC in atomic units (6 decimals): 1 USD = 1_000_000n. Never negative, at most 2^256 - 1. */
export type UsdcUnits = Branded<bigint, 'UsdcUnits'>;
/** Seconds since the Unix epoch, an integer, as in EIP-3009 `validAfter` and `validBefore`. */
export type UnixSeconds = Branded<number, 'UnixSeconds'>;
/** Milliseconds since the Unix epoch, an integer. */
export type UnixMillis = Branded<number, 'UnixMillis'>;
/** A 20-byte account address, lower-case hex, so that equality is `===`. */
export type Address = Branded<`0x${string}`, 'Address'>;
/** A 32-byte value, lower-case hex: transaction hashes, block hashes, authorization nonces. */
export type Bytes32 = Branded<`0x${string}`, 'Bytes32'>;
export type TransactionHash = Bytes32;
/** Any even-length lower-case hex string with its `0x`. */
export type Hex = `0x${string}`;

const UINT256_MAX = (1n << 256n) - 1n;

/** Parses a canonical decimal (`0` or no leading zero, at most 78 digits), as x402 writes amounts. */
export function parseUint256(text: string): bigint | undefined {
  if (!/^(0|[1-9][0-9]{0,77})$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= UINT256_MAX ? value : undefined;
}

export function usdcUnits(value: bigint): UsdcUnits {
  if (value < 0n || value > UINT256_MAX) throw new RangeError('USDC units must fit a uint256');
  return value as UsdcUnits;
}

/**
 * Parses a dollar amount such as `0.00005` into atomic USDC.
 * Returns undefined for anything but digits with at most six decimals.
 */
export function parseUsd(text: string): UsdcUnits | undefined {
  const match = /^([0-9]{1,15})(?:\.([0-9]{1,6}))?$/.exec(text);
  if (!match) return undefined;
  const [, whole = '0', fraction = ''] = match;
  return usdcUnits(BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0')));
}

/** Atomic USDC as dollars without trailing zeros: `50n` is `0.00005`. */
export function formatUsd(units: UsdcUnits): string {
  const digits = units.toString().padStart(7, '0');
  const fraction = digits.slice(-6).replace(/0+$/, '');
  return fraction ? `${digits.slice(0, -6)}.${fraction}` : digits.slice(0, -6);
}

export function unixSeconds(value: number): UnixSeconds {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('not a Unix time in seconds');
  return value as UnixSeconds;
}

export function unixMillis(value: number): UnixMillis {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError('not a Unix time in ms');
  return value as UnixMillis;
}

export function toSeconds(time: UnixMillis): UnixSeconds {
  return unixSeconds(Math.floor(time / 1000));
}

/** Parses an address in any letter case; checksums are not verified, as x402 does not ask for it. */
export function parseAddress(text: string): Address | undefined {
  return /^0x[0-9a-fA-F]{40}$/.test(text) ? (text.toLowerCase() as Address) : undefined;
}

export function parseBytes32(text: string): Bytes32 | undefined {
  return /^0x[0-9a-fA-F]{64}$/.test(text) ? (text.toLowerCase() as Bytes32) : undefined;
}

export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (!parsed) throw new TypeError('not an address');
  return parsed;
}

export function bytes32(text: string): Bytes32 {
  const parsed = parseBytes32(text);
  if (!parsed) throw new TypeError('not 32 bytes of hex');
  return parsed;
}
