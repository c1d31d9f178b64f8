import { createECDH, createHmac, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../errors.js';
import type { Hex } from '../hex.js';
import { signerOf, type AccountWallet, type SignedData } from '../payment/wallet.js';
import { word } from '../eth/bytes.js';
import { keccak256 } from '../eth/keccak.js';
import { digestOf } from '../eth/typed-data.js';

/** Order of the secp256k1 group (SEC 2, 2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const toBigInt = (bytes: Uint8Array) => BigInt(`0x${toHex(bytes)}`);
const toBytes = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
const text = (value: string) => new TextEncoder().encode(value);

/** k·G as OpenSSL computes it: 0x04 ‖ x ‖ y. */
function multiplyGenerator(scalar: Uint8Array): Buffer {
  const curve = createECDH('secp256k1');
  curve.setPrivateKey(scalar);
  return curve.getPublicKey();
}

function inverse(value: bigint): bigint {
  let [a, b] = [value, ORDER];
  let [x, y] = [1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % ORDER) + ORDER) % ORDER;
}

/** Candidates for the secret number k of one signature (RFC 6979, 3.2, with SHA-256). */
function* secretNumbers(key: Uint8Array, digest: Uint8Array): Generator<bigint> {
  const reduced = toBytes(toBigInt(digest) % ORDER);
  const hmac = (secret: Uint8Array, ...parts: Uint8Array[]) =>
    createHmac('sha256', secret).update(Buffer.concat(parts)).digest();
  let v: Uint8Array = Buffer.alloc(32, 1);
  let k: Uint8Array = hmac(Buffer.alloc(32), v, Uint8Array.of(0), key, reduced);
  v = hmac(k, v);
  k = hmac(k, v, Uint8Array.of(1), key, reduced);
  v = hmac(k, v);
  for (;;) {
    v = hmac(k, v);
    yield toBigInt(v);
    k = hmac(k, v, Uint8Array.of(0));
    v = hmac(k, v);
  }
}

/** r ‖ s ‖ v with s in the lower half of the order (EIP-2) and v 27 or 28. */
function signDigest(key: Uint8Array, digest: Uint8Array): Hex {
  for (const k of secretNumbers(key, digest)) {
    if (k === 0n || k >= ORDER) continue;
    const point = multiplyGenerator(toBytes(k));
    const x = toBigInt(point.subarray(1, 33));
    const r = x % ORDER;
    const s = (inverse(k) * ((toBigInt(digest) + r * toBigInt(key)) % ORDER)) % ORDER;
    // x beyond the order would need a recovery id that Ethereum does not know.
    if (r === 0n || s === 0n || x >= ORDER) continue;
    const isHigh = s > ORDER / 2n;
    const isOdd = ((point[64] ?? 0) & 1) === 1;
    const v = isOdd !== isHigh ? '1c' : '1b';
    return `0x${toHex(toBytes(r))}${toHex(toBytes(isHigh ? ORDER - s : s))}${v}`;
  }
  throw new Error('RFC 6979 yields numbers without end');
}

/** EIP-55. */
function checksummed(lower: string): Hex {
  const hash = toHex(keccak256(text(lower)));
  const mixed = lower.replace(/./g, (digit, i: number) =>
    parseInt(hash[i] ?? '0', 16) >= 8 ? digit.toUpperCase() : digit,
  );
  return `0x${mixed}`;
}

/**
 * A wallet from a private key, without any package. It signs EIP-3009 transfers and deposits,
 * vouchers of channels, and questions about payments, and nothing else.
 * The curve arithmetic on secrets is OpenSSL's; the rest of ECDSA is plain BigInt, which is not
 * constant-time: keep little money on such a key, or use a viem account or a hardware wallet.
 * @param privateKey 32 bytes of hex, with or without `0x`
 * @throws {ConfigurationError} when it is not a private key; the message does not repeat it
 */
export function privateKeyAccount(privateKey: string): AccountWallet {
  const match = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(privateKey.trim());
  const key = Buffer.from(match?.[1] ?? '', 'hex');
  const isInRange = match !== null && toBigInt(key) > 0n && toBigInt(key) < ORDER;
  if (!isInRange) throw new ConfigurationError('the private key must be 32 bytes of hex');
  const address = checksummed(toHex(keccak256(multiplyGenerator(key).subarray(1)).subarray(12)));
  return {
    address,
    signTypedData: (data: SignedData) => {
      if (!timingSafeEqual(word(signerOf(data) ?? address), word(address))) {
        return Promise.reject(new Error('this key does not belong to the payer'));
      }
      return Promise.resolve(signDigest(key, digestOf(data)));
    },
  };
}
