import { domainSeparator, keccak256, recoverAddress, stringToHex } from 'viem';
import { address, type Address, type Hex } from '../domain/units.js';
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

/** Who signed what, as far as it was asked lately. */
type Recover = (digest: Hex, signature: Hex) => Promise<Address | undefined>;

/**
 * Finds the account whose key signed a digest: undefined where r‖s‖v is no point on the curve.
 * The last `memoryMax` answers are kept, because a recovery takes more than a millisecond and
 * copies of one payment arrive in crowds; concurrent copies share one recovery.
 */
export function createRecover(memoryMax: number): Recover {
  const known = new Map<string, Promise<Address | undefined>>();
  return (digest, signature) => {
    const key = digest + signature;
    const answer = known.get(key);
    if (answer) return answer;
    const [oldest] = known.keys();
    if (known.size >= memoryMax && oldest !== undefined) known.delete(oldest);
    const asked = recoverSigner(digest, signature);
    known.set(key, asked);
    return asked;
  };
}

async function recoverSigner(digest: Hex, signature: Hex): Promise<Address | undefined> {
  try {
    return address(await recoverAddress({ hash: digest, signature }));
  } catch {
    return undefined;
  }
}
