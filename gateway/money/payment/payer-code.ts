import { encodeFunctionData, keccak256 } from 'viem';
import { CAPPED_BATCH_ADDRESS, cappedBatchAbi } from '../../../contracts-abi/capped-batch.js';
import {
  address,
  bytes32,
  type Address,
  type Bytes32,
  type Hex,
} from '../../ground/domain/units.js';
import type { Call } from './transfer.js';

/** The batch contract (`contracts-abi/src/CappedBatch.sol`), where a relayer of anybody deployed it. */
export const CAPPED_BATCH = address(CAPPED_BATCH_ADDRESS);

/** Whether an account runs code of its own when its signature is checked. */
export type KnownCode =
  { readonly kind: 'none' } | { readonly kind: 'code'; readonly hash: Bytes32 };

/** The same, where the chain may not have said it. */
export type PayerCode = KnownCode | { readonly kind: 'unknown' };

/** EIP-1052: what an account that does not exist, and one without code, has for a code hash. */
const NO_CODE = new Set<Hex>([`0x${'0'.repeat(64)}`, keccak256('0x')]);

/** Asks the batch contract for the hash of an account's code, in the same call as everything else. */
export function codeHashCall(account: Address): Call {
  const data = encodeFunctionData({
    abi: cappedBatchAbi,
    functionName: 'codeHash',
    args: [account],
  });
  return { target: CAPPED_BATCH, data };
}

/** What `codeHashCall` returned; on a chain without the batch contract, that is nothing. */
export function readCodeHash(returned: Hex | undefined): PayerCode {
  if (returned?.length !== 66) return { kind: 'unknown' };
  return NO_CODE.has(returned) ? { kind: 'none' } : { kind: 'code', hash: bytes32(returned) };
}

/** What `eth_getCode` says. An account that delegates (EIP-7702) has 23 bytes that name the contract. */
export function payerCodeOf(code: Hex): KnownCode {
  return code === '0x' ? { kind: 'none' } : { kind: 'code', hash: bytes32(keccak256(code)) };
}
