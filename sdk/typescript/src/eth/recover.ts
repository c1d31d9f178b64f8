import { toBigInt, toBytes, toHex, concat, word } from './bytes.js';
import { keccak256 } from './keccak.js';
import type { Hex } from '../hex.js';

/** secp256k1: y² = x³ + 7 over this prime, with a group of this order (SEC 2, 2.4.1). */
const PRIME = 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const GENERATOR: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

const modulo = (value: bigint, by: bigint) => ((value % by) + by) % by;

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % PRIME;
    square = (square * square) % PRIME;
  }
  return result;
}

function inverse(value: bigint, by: bigint): bigint {
  let [a, b] = [modulo(value, by), by];
  let [x, y] = [1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return modulo(x, by);
}

/** Undefined is the point at infinity. */
function add(one: Point | undefined, other: Point | undefined): Point | undefined {
  if (!one) return other;
  if (!other) return one;
  if (one.x === other.x && modulo(one.y + other.y, PRIME) === 0n) return undefined;
  const slope =
    one.x === other.x
      ? 3n * one.x * one.x * inverse(2n * one.y, PRIME)
      : (other.y - one.y) * inverse(other.x - one.x, PRIME);
  const x = modulo(slope * slope - one.x - other.x, PRIME);
  return { x, y: modulo(slope * (one.x - x) - one.y, PRIME) };
}

function multiply(point: Point, scalar: bigint): Point | undefined {
  let result: Point | undefined;
  let double: Point | undefined = point;
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = add(result, double);
    double = add(double, double);
  }
  return result;
}

/**
 * Who made a signature of 65 bytes (r ‖ s ‖ v) over a digest, in lower case (SEC 1, 4.1.6);
 * undefined when nobody can have. Public numbers only, so plain BigInt will do; it takes tens of
 * milliseconds, and is needed when a store was lost.
 */
export function recoverAddress(digest: Uint8Array, signature: Hex): Hex | undefined {
  const bytes = toBytes(signature);
  const [r, s] = [toBigInt(bytes.subarray(0, 32)), toBigInt(bytes.subarray(32, 64))];
  const parity = (bytes[64] ?? 255) - 27;
  if (bytes.length !== 65 || (parity !== 0 && parity !== 1)) return undefined;
  if (r === 0n || r >= ORDER || s === 0n || s > ORDER / 2n) return undefined;
  const square = (power(r, 3n) + 7n) % PRIME;
  const root = power(square, (PRIME + 1n) / 4n);
  if ((root * root) % PRIME !== square) return undefined;
  const y = Number(root & 1n) === parity ? root : PRIME - root;
  const factor = inverse(r, ORDER);
  const key = add(
    multiply(GENERATOR, modulo(-toBigInt(digest) * factor, ORDER)),
    multiply({ x: r, y }, modulo(s * factor, ORDER)),
  );
  return key && toHex(keccak256(concat(word(key.x), word(key.y))).subarray(12));
}
