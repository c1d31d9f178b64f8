import { decodeFunctionResult, encodeFunctionData, keccak256, stringToHex } from 'viem';
import { z } from 'zod';
import { batchSettlementAbi } from '../../../contracts-abi/batch-settlement.js';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import {
  bytes32,
  unixSeconds,
  usdcUnits,
  type Address,
  type Bytes32,
  type Hex,
} from '../../ground/domain/units.js';
import type { ReadState } from '../channel-books/chain-books.js';
import { SETTLEMENT_CONTRACT } from '../payment/deposit.js';
import { encodeAggregate } from '../payment/encode.js';
import { MULTICALL3 } from '../payment/on-chain.js';
import type { RpcRequester } from '../settlement/rpc-chain.js';
import type { ChainBlock, SettlementChain } from '../settlement/chain.js';

/** The chain as the channels need it. Every method throws when no answer could be had. */
export interface ChannelChain extends Pick<SettlementChain, 'chainId' | 'block' | 'logs'> {
  /** What a call returns at the end of a block, without a transaction; throws when it reverts. */
  read(call: { readonly to: Address; readonly data: Hex }, block: bigint): Promise<Hex>;
}

const data = z
  .string()
  .regex(/^0x([0-9a-f]{2})*$/i)
  .transform((text) => text.toLowerCase() as Hex);

/** The settlement's view of the chain, and calls at a block. */
export function createChannelChain(chain: SettlementChain, rpc: RpcRequester): ChannelChain {
  return {
    chainId: chain.chainId,
    block: (which) => chain.block(which),
    logs: (filter) => chain.logs(filter),
    read: async (call, block) =>
      data.parse(await rpc.request('eth_call', [call, `0x${block.toString(16)}`])),
  };
}

const topic = (signature: string): Hex => keccak256(stringToHex(signature));

/** The events of the contract that change a channel. */
export const CHANNEL_TOPICS: readonly Hex[] = [
  topic('Deposited(bytes32,address,uint128,uint128)'),
  topic('Claimed(bytes32,address,uint128,uint128)'),
  topic('Refunded(bytes32,address,uint128)'),
  topic('WithdrawInitiated(bytes32,uint128,uint40)'),
  topic('WithdrawFinalized(bytes32,address,uint128)'),
];

/** Blocks of one `eth_getLogs`: what the common providers allow. */
const LOG_BLOCKS = 2000n;

/** The channels, of anybody, that changed in these blocks. No event but `Settled` names the receiver. */
export async function changedChannels(
  chain: ChannelChain,
  fromBlock: bigint,
  toBlock: bigint,
): Promise<readonly Bytes32[]> {
  const changed = new Set<Bytes32>();
  for (let from = fromBlock; from <= toBlock; from += LOG_BLOCKS) {
    const last = from + LOG_BLOCKS - 1n;
    const logs = await chain.logs({
      address: SETTLEMENT_CONTRACT,
      topics: [CHANNEL_TOPICS],
      fromBlock: from,
      toBlock: last < toBlock ? last : toBlock,
    });
    for (const { topics } of logs) {
      if (topics[1]) changed.add(bytes32(topics[1]));
    }
  }
  return [...changed];
}

/** Channels of one `eth_call`, three questions each. */
const CHANNELS_AT_ONCE = 100;

/** What the contract says about these channels at the end of one block. */
export async function readChannels(
  chain: ChannelChain,
  ids: readonly Bytes32[],
  block: ChainBlock,
): Promise<readonly ReadState[]> {
  const states: ReadState[] = [];
  for (let from = 0; from < ids.length; from += CHANNELS_AT_ONCE) {
    states.push(...(await readSome(chain, ids.slice(from, from + CHANNELS_AT_ONCE), block)));
  }
  return states;
}

async function readSome(
  chain: ChannelChain,
  ids: readonly Bytes32[],
  { number, hash }: ChainBlock,
): Promise<readonly ReadState[]> {
  const calls = ids.flatMap((id) =>
    VIEWS.map((functionName) => ({
      target: SETTLEMENT_CONTRACT,
      data: encodeFunctionData({ abi: batchSettlementAbi, functionName, args: [id] }),
      mayFail: false,
    })),
  );
  const returned = await chain.read({ to: MULTICALL3, data: encodeAggregate(calls) }, number);
  const outcomes = decodeFunctionResult({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    data: returned,
  });
  return ids.map((channelId, index) => {
    const answer = (view: number): Hex => outcomes[index * VIEWS.length + view]?.returnData ?? '0x';
    const [balance, claimed] = decodeFunctionResult({
      abi: batchSettlementAbi,
      functionName: VIEWS[0],
      data: answer(0),
    });
    const [amount, initiatedAt] = decodeFunctionResult({
      abi: batchSettlementAbi,
      functionName: VIEWS[1],
      data: answer(1),
    });
    const refundNonce = decodeFunctionResult({
      abi: batchSettlementAbi,
      functionName: VIEWS[2],
      data: answer(2),
    });
    return {
      channelId,
      balance: usdcUnits(balance),
      claimed: usdcUnits(claimed),
      refundNonce,
      ...(initiatedAt > 0 && {
        withdrawal: { amount: usdcUnits(amount), initiatedAt: unixSeconds(initiatedAt) },
      }),
      block: { number, hash },
    };
  });
}

const VIEWS = ['channels', 'pendingWithdrawals', 'refundNonce'] as const;
