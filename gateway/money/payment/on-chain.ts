import { decodeFunctionResult, encodeFunctionData } from 'viem';
import { MULTICALL3_ADDRESS } from '../../../contracts-abi/addresses.js';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import {
  address,
  unixSeconds,
  type Address,
  type Hex,
  type UnixSeconds,
} from '../../ground/domain/units.js';
import { reasons } from '../x402/reasons.js';
import type { SignedAuthorization } from './authorization.js';
import { encodeAggregate, wordsEncoder } from './encode.js';
import { codeHashCall, readCodeHash, type PayerCode } from './payer-code.js';
import { fundsCalls, readFunds, type RelayerFunds } from './relayer-funds.js';
import { readRevert, type Revert } from './revert.js';
import { transferCalls, type Call } from './transfer.js';

/** What a verification needs of the chain's RPC: one `eth_call` on the latest block. */
export interface ChainCaller {
  /** Returns what the call returned; rejects when it reverted or no endpoint answered in time. */
  ethCall(to: Address, data: Hex, options: { deadlineMs: number }): Promise<Hex>;
}

/** The latest block as a verification saw it; settlement and the chain's time use it. */
export interface ChainFacts {
  readonly chainId: number;
  readonly blockNumber: bigint;
  readonly timestamp: UnixSeconds;
  /** Wei for one unit of gas. */
  readonly baseFeePerGas: bigint;
  /** The relayers' gas money, where it was asked for. */
  readonly funds?: RelayerFunds;
}

/** What the chain says about one authorization. */
export type ChainAnswer = { readonly facts: ChainFacts } & Verdict;

type Verdict =
  | { readonly kind: 'good'; readonly payerCode: PayerCode }
  | ({ readonly kind: 'bad' } & Revert)
  /** The simulation ended without a word; asked beside others, it may have been starved of gas. */
  | { readonly kind: 'silent' };

/** Multicall3, as an address. */
export const MULTICALL3 = address(MULTICALL3_ADDRESS);

const FACT_CALLS: readonly Call[] = (
  ['getChainId', 'getBlockNumber', 'getCurrentBlockTimestamp', 'getBasefee'] as const
).map((functionName) => ({
  target: MULTICALL3,
  data: encodeFunctionData({ abi: multicall3Abi, functionName }),
}));

/** What one call of a Multicall3 batch returned. */
export interface Outcome {
  readonly success: boolean;
  readonly returnData: Hex;
}

/**
 * Asks the chain everything about some authorizations in one `eth_call`: the block's facts, and for
 * each authorization its state, the payer's balance and code, and the transfer itself, simulated. What
 * the relayers have costs no call of its own that way.
 *
 * Transfers are simulated one after another, so of two that one balance covers once the first is
 * good. Rejects when the chain is out of reach or answers nonsense.
 */
export async function askChain(
  chain: ChainCaller,
  authorizations: readonly SignedAuthorization[],
  deadlineMs: number,
  relayers: readonly Address[] = [],
): Promise<readonly ChainAnswer[]> {
  const groups = authorizations.map(callsAbout);
  const about = [...FACT_CALLS, ...fundsCalls(relayers)];
  const outcomes = await aggregate(chain, [...about, ...groups.flat()], deadlineMs);
  const told = outcomes.slice(FACT_CALLS.length, about.length).map(readUint);
  const funds = readFunds(relayers, told);
  const facts = { ...readFacts(outcomes.slice(0, FACT_CALLS.length)), ...(funds && { funds }) };
  let next = about.length;
  return authorizations.map((authorization, index) => {
    const from = next;
    next += groups[index]?.length ?? 0;
    return { facts, ...judge(authorization, outcomes.slice(from, next)) };
  });
}

/** Makes some calls in one `eth_call`; each may fail on its own. Rejects like the chain does. */
export async function aggregate(
  chain: ChainCaller,
  calls: readonly Call[],
  deadlineMs: number,
): Promise<readonly Outcome[]> {
  const data = encodeAggregate(calls.map((call) => ({ ...call, mayFail: true })));
  const returned = await chain.ethCall(MULTICALL3, data, { deadlineMs });
  const outcomes = decodeFunctionResult({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    data: returned,
  });
  if (outcomes.length !== calls.length) throw new Error('Multicall3 answered other calls');
  return outcomes;
}

const authorizationState = wordsEncoder('authorizationState(address,bytes32)');
const balanceOf = wordsEncoder('balanceOf(address)');

function callsAbout(authorization: SignedAuthorization): readonly Call[] {
  const { asset, from, nonce } = authorization;
  const ask = (data: Hex): Call => ({ target: asset, data });
  return [
    ask(authorizationState(from, nonce)),
    ask(balanceOf(from)),
    codeHashCall(from),
    ...transferCalls(authorization),
  ];
}

function readFacts(outcomes: readonly Outcome[]): ChainFacts {
  const [chainId, blockNumber, timestamp, baseFeePerGas] = outcomes.map(readUint);
  if (
    chainId === undefined ||
    blockNumber === undefined ||
    timestamp === undefined ||
    baseFeePerGas === undefined
  )
    throw new Error('Multicall3 did not tell the facts of the block');
  return {
    chainId: Number(chainId),
    blockNumber,
    timestamp: unixSeconds(Number(timestamp)),
    baseFeePerGas,
  };
}

function judge({ value }: SignedAuthorization, outcomes: readonly Outcome[]): Verdict {
  const [state, balance] = outcomes.map(readUint);
  const transfer = outcomes.at(-1);
  if (transfer?.success) return { kind: 'good', payerCode: readCodeHash(outcomes[2]?.returnData) };
  // The order is the reference's: a used nonce explains itself better than what else is wrong.
  if (state !== undefined && state !== 0n) return { kind: 'bad', reason: reasons.nonceUsed };
  if (balance !== undefined && balance < value) return { kind: 'bad', reason: reasons.balance };
  const revert = transfer && readRevert(transfer.returnData);
  return revert ? { kind: 'bad', ...revert } : { kind: 'silent' };
}

/** The 32-byte word that a successful call returned, if it is one. */
export function readUint({ success, returnData }: Outcome): bigint | undefined {
  return success && returnData.length === 66 ? BigInt(returnData) : undefined;
}
