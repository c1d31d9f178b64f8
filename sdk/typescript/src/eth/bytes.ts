import type { Hex } from '../hex.js';

/** The bytes as hex digits after `0x`. */
export const toHex = (bytes: Uint8Array): Hex =>
  `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

/** The bytes that hex digits stand for. */
export function toBytes(hex: string): Uint8Array {
  const digits = hex.replace(/^0x/, '');
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** 32 bytes, big-endian, of a number below 2^256 or of shorter hex. */
export function word(value: bigint | Hex): Uint8Array {
  const digits = typeof value === 'bigint' ? value.toString(16) : value.slice(2);
  return toBytes(digits.padStart(64, '0'));
}

export const toBigInt = (bytes: Uint8Array): bigint => BigInt(toHex(bytes));

export const concat = (...parts: readonly Uint8Array[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]));
