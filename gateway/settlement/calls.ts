import { encodeFunctionData, hexToBytes, parseAbi } from 'viem';
import type { Address, Hex } from '../domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import { MULTICALL3 } from '../payment/on-chain.js';
import { isKeySignature } from '../payment/signature.js';
import { type Call as TokenCall, transferCalls } from '../payment/transfer.js';

/** What a transaction calls, and the gas that it may use. */
export interface Call {
  readonly to: Address;
  readonly data: Uint8Array;
  readonly gasLimit: bigint;
}

const MULTICALL = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
]);

/** A transaction's own 21,000 (yellow paper, G_transaction) and Multicall3's first steps. */
const TRANSACTION_GAS = 30_000n;
/** One transfer by a key with its calldata: at most about 86,000 on USDC to a first-time payee. */
const KEY_TRANSFER_GAS = 110_000n;
/** Room for a wallet contract to check its own signature, and to be deployed where it has to. */
const CONTRACT_SIGNATURE_GAS = 500_000n;

/** The most gas that one authorization's transfer may use. */
export function transferGas({ signature }: SignedAuthorization): bigint {
  return isKeySignature(signature) ? KEY_TRANSFER_GAS : KEY_TRANSFER_GAS + CONTRACT_SIGNATURE_GAS;
}

/**
 * The call that moves these authorizations' money: a lone one straight to the token, several
 * through Multicall3, where each may fail without harm to its neighbours.
 */
export function paymentsCall(authorizations: readonly SignedAuthorization[]): Call {
  const calls = authorizations.flatMap((authorization) => transferCalls(authorization));
  const gasLimit = authorizations.reduce((sum, one) => sum + transferGas(one), TRANSACTION_GAS);
  const [only] = calls;
  if (!only) throw new RangeError('no payment to call for');
  if (calls.length === 1) return { to: only.target, data: hexToBytes(only.data), gasLimit };
  return { to: MULTICALL3, data: hexToBytes(aggregate(calls, () => true)), gasLimit };
}

/** The same transfer as a call that reverts when the money would not move, to be simulated. */
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
