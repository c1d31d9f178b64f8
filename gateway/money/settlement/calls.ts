import { encodeFunctionData, hexToBytes, parseAbi } from 'viem';
import { cappedBatchAbi } from '../../../contracts-abi/capped-batch.js';
import type { Address, Hex } from '../../ground/domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import { MULTICALL3 } from '../payment/on-chain.js';
import { CAPPED_BATCH } from '../payment/payer-code.js';
import { type Call as TokenCall, transferCalls } from '../payment/transfer.js';

/** What a transaction calls, and the gas that it may use. */
export interface Call {
  readonly to: Address;
  readonly data: Uint8Array;
  readonly gasLimit: bigint;
}

/** The contract that makes several transfers in one transaction. */
export type BatchContract =
  /** Ours: each call has a gas cap of its own. */
  | 'capped-batch'
  /** Where ours is not deployed: one call can use up the gas of all that come after it. */
  | 'multicall3';

const MULTICALL = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
]);

/** A transaction's own 21,000 (yellow paper, G_transaction) and the batch contract's first steps. */
export const TRANSACTION_GAS = 30_000n;
/** One transfer by a key: at most about 86,000 on USDC to a first-time payee. The cap of a call. */
export const KEY_TRANSFER_GAS = 110_000n;
/**
 * One deposit into a channel: about 101,000 with the development token, and two transfers through
 * USDC's proxy. The cap of a call.
 */
const DEPOSIT_GAS = 190_000n;
/** What a shared call needs beside its transfer: calldata (EIP-2028) and 1/64 of the cap (EIP-150). */
const SHARED_CALL_GAS = 12_000n;

/** What a plain key's transfer may use when it has a transaction of its own. */
export const LONE_TRANSFER_GAS = TRANSACTION_GAS + KEY_TRANSFER_GAS;

/** What a plain key's transfer may use in a transaction with others. */
export const SHARED_TRANSFER_GAS = KEY_TRANSFER_GAS + SHARED_CALL_GAS;

/**
 * The call that moves these authorizations' money, all of them signed by plain keys: a lone one
 * straight to the token, several through a batch contract, where each may fail without harm to its
 * neighbours.
 */
export function sharedCall(
  authorizations: readonly SignedAuthorization[],
  through: BatchContract,
): Call {
  const [only] = authorizations;
  if (!only) throw new RangeError('no payment to call for');
  const gasMax = gasMaxOf(authorizations);
  if (authorizations.length === 1) return loneCall(only, TRANSACTION_GAS + gasMax);
  const calls = authorizations.flatMap((authorization) => transferCalls(authorization));
  const gasLimit = TRANSACTION_GAS + BigInt(calls.length) * (gasMax + SHARED_CALL_GAS);
  return through === 'capped-batch'
    ? { to: CAPPED_BATCH, data: hexToBytes(runCapped(calls, gasMax)), gasLimit }
    : { to: MULTICALL3, data: hexToBytes(aggregate(calls, () => true)), gasLimit };
}

/** The gas that each of these may use: one cap counts for all calls of a transaction. */
function gasMaxOf(authorizations: readonly SignedAuthorization[]): bigint {
  return authorizations.some(({ deposit }) => deposit) ? DEPOSIT_GAS : KEY_TRANSFER_GAS;
}

/** What each of these needs in a transaction with others. */
export function sharedGasOf(authorizations: readonly SignedAuthorization[]): bigint {
  return gasMaxOf(authorizations) + SHARED_CALL_GAS;
}

/** The call that moves the money of one authorization and reverts when it would not move. */
export function loneCall(authorization: SignedAuthorization, gasLimit: bigint): Call {
  return { ...trialCall(authorization), gasLimit };
}

/** The same without a gas limit, to be simulated. */
export function trialCall(authorization: SignedAuthorization): Pick<Call, 'to' | 'data'> {
  const calls = transferCalls(authorization);
  const [only] = calls;
  if (only && calls.length === 1) return { to: only.target, data: hexToBytes(only.data) };
  const isLast = (call: TokenCall) => call === calls.at(-1);
  return { to: MULTICALL3, data: hexToBytes(aggregate(calls, (call) => !isLast(call))) };
}

function aggregate(calls: readonly TokenCall[], mayFail: (call: TokenCall) => boolean): Hex {
  const args = calls.map((call) => ({
    target: call.target,
    allowFailure: mayFail(call),
    callData: call.data,
  }));
  return encodeFunctionData({ abi: MULTICALL, functionName: 'aggregate3', args: [args] });
}

function runCapped(calls: readonly TokenCall[], gasMax: bigint): Hex {
  return encodeFunctionData({
    abi: cappedBatchAbi,
    functionName: 'run',
    args: [gasMax, calls.map(({ target, data }) => ({ target, data }))],
  });
}
