import { instantiateSecp256k1 } from '@bitauth/libauth/build/lib/crypto/secp256k1.js';
import { domainSeparator, keccak256, stringToHex } from 'viem';
import { address, type Address, type Hex } from '../../ground/domain/units.js';
import type { Authorization } from './authorization.js';

/** The EIP-712 domain of a token contract. */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Address;
}

/** EIP-3009, `TRANSFER_WITH_AUTHORIZATION_TYPEHASH`. */
const TYPE_HASH = keccak256(
  stringToHex(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
);

/** `s` above this has a twin signature; USDC refuses it (EIP-2, section "Specification"). */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** One 32-byte ABI word, as 64 hex digits. */
function word(value: bigint | number | Hex): string {
  return (typeof value === 'string' ? value.slice(2) : value.toString(16)).padStart(64, '0');
}

/**
 * The digests that payers of one token sign (EIP-712, "Definition of signTypedData"). The domain
 * separator is hashed once; a digest then is two hashes.
 */
export function createDigest(domain: TokenDomain): (authorization: Authorization) => Hex {
  const separator = domainSeparator({ domain }).slice(2);
  return ({ from, to, value, validAfter, validBefore, nonce }) => {
    const struct = [TYPE_HASH, from, to, value, validAfter, validBefore, nonce].map(word).join('');
    return keccak256(`0x1901${separator}${keccak256(`0x${struct}`).slice(2)}`);
  };
}

/** The length of `0x` and r‖s‖v as hex. */
const KEY_SIGNATURE_LENGTH = 2 + 65 * 2;

/** Whether a signature has the 65 bytes that a key makes. */
export function isKeySignature(signature: Hex): boolean {
  return signature.length === KEY_SIGNATURE_LENGTH;
}

/** Whether r‖s‖v is the one spelling that USDC takes: `s` in the lower half, `v` 27 or 28. */
export function isCanonical(signature: Hex): boolean {
  const v = Number.parseInt(signature.slice(130), 16);
  return (v === 27 || v === 28) && BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}

/**
 * libsecp256k1 in WebAssembly: a tenth of the time that JavaScript takes, and anybody may make us
 * recover (docs/decisions/secp256k1.md). Its own module, because the package's main one loads much
 * more.
 */
const secp256k1 = await instantiateSecp256k1();

/** Who signed what, as far as it was asked lately. */
type Recover = (digest: Hex, signature: Hex) => Address | undefined;

/**
 * Finds the account whose key signed a digest: undefined where r‖s‖v is no point on the curve.
 * The last `memoryMax` answers are kept, because copies of one payment arrive in crowds.
 */
export function createRecover(memoryMax: number): Recover {
  const known = new Map<string, { readonly signer: Address | undefined }>();
  return (digest, signature) => {
    const key = digest + signature;
    const answer = known.get(key);
    if (answer) return answer.signer;
    const [oldest] = known.keys();
    if (known.size >= memoryMax && oldest !== undefined) known.delete(oldest);
    const signer = recoverSigner(digest, signature);
    known.set(key, { signer });
    return signer;
  };
}

/**
 * The account whose key made r‖s‖v over a digest (SEC 1, 4.1.6): `v` is 27 or 28, or 0 or 1, and
 * `s` may lie in either half. About 0.13 ms, whatever is given.
 */
export function recoverSigner(digest: Hex, signature: Hex): Address | undefined {
  const bytes = Buffer.from(signature.slice(2), 'hex');
  const recovery = RECOVERY_IDS.get(bytes[64] ?? -1);
  if (bytes.length !== 65 || recovery === undefined) return undefined;
  const hash = Buffer.from(digest.slice(2), 'hex');
  const key = secp256k1.recoverPublicKeyUncompressed(bytes.subarray(0, 64), recovery, hash);
  // A string says what was wrong. The first byte of a key is its form, 0x04.
  if (typeof key === 'string') return undefined;
  return address(`0x${keccak256(key.subarray(1)).slice(-40)}`);
}

const RECOVERY_IDS = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
] as const satisfies readonly (readonly [number, 0 | 1])[]) as ReadonlyMap<number, 0 | 1>;
