import { encodeFunctionData, parseAbi, parseErc6492Signature } from 'viem';
import { parseAddress, type Address, type Hex } from '../domain/units.js';
import type { SignedAuthorization } from './authorization.js';
import { isKeySignature } from './signature.js';

/** One call of a batch: what Multicall3 sends to `target`. */
export interface Call {
  readonly target: Address;
  readonly data: Hex;
}

/** Both forms that FiatTokenV2_2 has: r, s and v of a key, or the bytes of any signature. */
const transferAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** EIP-6492: a signature of a contract that may not be deployed yet ends with these 32 bytes. */
const MAGIC_6492 = '6492'.repeat(16);

/** The deployment that goes before a transfer, and the signature inside (ERC-6492). */
export interface WrappedSignature {
  readonly factory: Address;
  readonly factoryData: Hex;
  readonly signature: Hex;
}

/** Whether a signature claims to be wrapped for a contract that may not exist yet. */
export function isWrapped(signature: Hex): boolean {
  return signature.endsWith(MAGIC_6492);
}

/** Unwraps an ERC-6492 signature; undefined when the wrapping is not what it claims to be. */
export function unwrap(wrapped: Hex): WrappedSignature | undefined {
  try {
    const { address, data, signature } = parseErc6492Signature(wrapped);
    if (!address) return undefined;
    const factory = parseAddress(address);
    return factory && { factory, factoryData: data, signature };
  } catch {
    return undefined;
  }
}

/**
 * The calls that move the money of one authorization, in order: `transferWithAuthorization` in the
 * form that its signature needs, after the deployment of a wallet that is not on chain yet.
 * The verifier simulates exactly these calls and settlement sends them.
 *
 * A wallet may have been deployed since: the deployment may fail, the transfer decides.
 */
export function transferCalls(authorization: SignedAuthorization): readonly Call[] {
  if (!isWrapped(authorization.signature)) return [transferCall(authorization)];
  const wrapped = unwrap(authorization.signature);
  if (!wrapped)
    throw new Error('an authorization with a broken ERC-6492 signature was let through');
  const { factory, factoryData, signature } = wrapped;
  return [{ target: factory, data: factoryData }, transferCall({ ...authorization, signature })];
}

function transferCall(authorization: SignedAuthorization): Call {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  const terms = [from, to, value, BigInt(validAfter), BigInt(validBefore), nonce] as const;
  const data = encodeFunctionData({
    abi: transferAbi,
    functionName: 'transferWithAuthorization',
    args: isKeySignature(signature)
      ? [...terms, ...splitSignature(signature)]
      : [...terms, signature],
  });
  return { target: authorization.asset, data };
}

/** `v`, `r` and `s` of r‖s‖v. */
function splitSignature(signature: Hex): [v: number, r: Hex, s: Hex] {
  const v = Number.parseInt(signature.slice(130), 16);
  return [v, `0x${signature.slice(2, 66)}`, `0x${signature.slice(66, 130)}`];
}
