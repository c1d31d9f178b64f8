/**
 * The shape of an API key: `s402_live_`, 27 characters of base62 that carry 160 random bits, and
 * six characters of base62 that carry the CRC-32 of everything before them. The checksum lets a
 * mistyped or made-up key be refused without a look into the database, and lets scanners of
 * leaked secrets be sure of what they found. It protects nothing: the 160 bits do.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Random } from '../../ground/domain/ports.js';

declare const brand: unique symbol;
/** An API key whose checksum is right. Shown once, never stored, never logged. */
export type ApiKey = string & { readonly [brand]: 'ApiKey' };
/** SHA-256 of an API key, lower-case hex: what the database and the cache know of it. */
export type ApiKeyHash = string & { readonly [brand]: 'ApiKeyHash' };

export const KEY_PREFIX = 's402_live_';
const RANDOM_BYTES = 20;
const RANDOM_CHARS = 27; // 62^27 > 2^160
const CHECKSUM_CHARS = 6; // 62^6 > 2^32
const KEY_SHAPE = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`);
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes a new key from 160 unpredictable bits. */
export function createKey(random: Random): ApiKey {
  const number = random.bytes(RANDOM_BYTES).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const body = KEY_PREFIX + base62(number, RANDOM_CHARS);
  return (body + checksum(body)) as ApiKey;
}

/** Reads a key; undefined when its shape or its checksum is wrong. Costs about a microsecond. */
export function parseKey(text: string): ApiKey | undefined {
  if (!KEY_SHAPE.test(text)) return undefined;
  const body = text.slice(0, -CHECKSUM_CHARS);
  return text.slice(-CHECKSUM_CHARS) === checksum(body) ? (text as ApiKey) : undefined;
}

/**
 * The only form in which a key is stored. A plain hash is enough for 160 random bits: there is no
 * dictionary to try. Looking it up leaks nothing by timing either, because a caller cannot steer
 * the hash of a guess towards a stored one.
 */
export function hashKey(key: ApiKey): ApiKeyHash {
  return hash('sha256', key, 'hex') as ApiKeyHash;
}

/** How a key is shown once it exists: enough to recognize it, far too little to guess it. */
export function maskKey(last4: string): string {
  return `${KEY_PREFIX}…${last4}`;
}

export function last4(key: ApiKey): string {
  return key.slice(-4);
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_CHARS);
}

function base62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; rest > 0n; rest /= 62n) text = (DIGITS[Number(rest % 62n)] ?? '') + text;
  return text.padStart(length, '0');
}
