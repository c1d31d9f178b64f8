import { encodeFunctionData, parseErc6492Signature } from 'viem';
import { ERC6492_MAGIC_SUFFIX } from '../../../contracts-abi/erc1271.js';
import { usdcBytesAbi } from '../../../contracts-abi/usdc.js';
import { parseAddress, type Address, type Hex } from '../../ground/domain/units.js';
import type { SignedAuthorization } from './authorization.js';
import { depositCall } from './deposit.js';
import { wordsEncoder } from './encode.js';
import { isKeySignature } from './signature.js';

/** One call of a batch: what Multicall3 sends to `target`. */
export interface Call {
  readonly target: Address;
  readonly data: Hex;
}

/** The deployment that goes before a transfer, and the signature inside (ERC-6492). */
interface WrappedSignature {
  readonly factory: Address;
  readonly factoryData: Hex;
  readonly signature: Hex;
}

const WRAPPED_END = ERC6492_MAGIC_SUFFIX.slice(2);

/** Whether a signature claims to be for a contract that may not be deployed yet (ERC-6492). */
export function isWrapped(signature: Hex): boolean {
  return signature.endsWith(WRAPPED_END);
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
 * The calls that move the money of one authorization, in order; the last one is the transfer, or the
 * deposit into a channel. The
 * verifier simulates exactly these calls and settlement sends them.
 *
 * A signature of 65 bytes goes as v, r and s, any other as bytes: both forms ask the same
 * `SignatureChecker` in FiatTokenV2_2, which goes by the payer's code. An ERC-6492 signature has the
 * wallet's deployment before it; where the wallet exists by now that call fails, and the transfer
 * alone decides.
 *
 * @throws when an ERC-6492 signature is broken, which `Verifier.check` refuses.
 */
export function transferCalls(authorization: SignedAuthorization): readonly Call[] {
  const { asset, signature } = authorization;
  if (authorization.deposit) return [depositCall(authorization, authorization.deposit)];
  if (!isWrapped(signature)) {
    const data = isKeySignature(signature)
      ? transferByKey(authorization)
      : transferByBytes(authorization, signature);
    return [{ target: asset, data }];
  }
  const wrapped = unwrap(signature);
  if (!wrapped)
    throw new Error('an authorization with a broken ERC-6492 signature was let through');
  return [
    { target: wrapped.factory, data: wrapped.factoryData },
    { target: asset, data: transferByBytes(authorization, wrapped.signature) },
  ];
}

const transferWithKey = wordsEncoder(
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)',
);

function transferByKey(authorization: SignedAuthorization): Hex {
  const { signature } = authorization;
  const r: Hex = `0x${signature.slice(2, 66)}`;
  const s: Hex = `0x${signature.slice(66, 130)}`;
  const v = Number.parseInt(signature.slice(130), 16);
  return transferWithKey(...transferArgs(authorization), v, r, s);
}

function transferByBytes(authorization: SignedAuthorization, signature: Hex): Hex {
  return encodeFunctionData({
    abi: usdcBytesAbi,
    functionName: 'transferWithAuthorization',
    args: [...transferArgs(authorization), signature],
  });
}

function transferArgs(authorization: SignedAuthorization) {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return [from, to, value, BigInt(validAfter), BigInt(validBefore), nonce] as const;
}
