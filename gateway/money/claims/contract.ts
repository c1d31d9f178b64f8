import { toEventSelector } from 'viem';
import {
  batchSettlementAbi,
  BATCH_SETTLEMENT_ADDRESS,
} from '../../../contracts-abi/batch-settlement.js';
import {
  address,
  bytes32,
  unixSeconds,
  usdcUnits,
  type Address,
  type Bytes32,
  type Hex,
  type TransactionHash,
} from '../../ground/domain/units.js';
import type { ChainState } from '../channels/channel.js';
import { wordsEncoder } from '../payment/encode.js';
import { aggregate, type Outcome } from '../payment/on-chain.js';
import type { SettlementChain } from '../settlement/chain.js';
import type { RpcRequester } from '../settlement/rpc-chain.js';

/** The settlement contract, at the same address on every chain. */
export const BATCH_SETTLEMENT = address(BATCH_SETTLEMENT_ADDRESS);

/** Blocks of one `eth_getLogs`: what the common providers allow. */
const LOG_BLOCKS = 2000n;
/** Channels that one `eth_getLogs` names; more are asked for in several. */
const LOG_CHANNELS = 500;
/** Channels that one `eth_call` reads, at three words each. */
const READ_CHANNELS = 200;
/** Milliseconds for one read. */
const READ_MS = 5_000;

const selectors = (...names: string[]): readonly Hex[] =>
  batchSettlementAbi.flatMap((item) =>
    item.type === 'event' && names.includes(item.name) ? [toEventSelector(item)] : [],
  );

/** What changes a channel. No event but `Settled` names the receiver: they are matched by channel. */
const CHANGES = selectors(
  ...['Deposited', 'Claimed', 'Refunded', 'WithdrawInitiated', 'WithdrawFinalized'],
);
const REFUNDED = selectors('Refunded');

const channelCall = wordsEncoder('channels(bytes32)');
const withdrawalCall = wordsEncoder('pendingWithdrawals(bytes32)');
const refundNonceCall = wordsEncoder('refundNonce(bytes32)');
const receiversCall = wordsEncoder('receivers(address,address)');

/** What has been claimed for a receiver, and how much of it was paid out. */
export interface Receivable {
  readonly claimed: bigint;
  readonly settled: bigint;
}

/** The settlement contract as claims and their watcher read it. Every method throws when it cannot tell. */
export interface ChannelContract {
  /** The channels among these that changed in these blocks, both ends included. */
  changed(channelIds: readonly Bytes32[], from: bigint, to: bigint): Promise<ReadonlySet<Bytes32>>;
  /** What the contract says of these channels at the end of a block, in the same order. */
  states(channelIds: readonly Bytes32[], block: bigint): Promise<readonly ChannelFacts[]>;
  receivable(receiver: Address, token: Address, block: bigint): Promise<Receivable>;
  /** The newest refund of a channel in these blocks. */
  refundIn(
    channelId: Bytes32,
    from: bigint,
    to: bigint,
  ): Promise<{ readonly transaction: TransactionHash; readonly amount: bigint } | undefined>;
}

/** A channel in the contract. */
export type ChannelFacts = Omit<ChainState, 'block'>;

/** The contract behind JSON-RPC. */
export function createChannelContract(
  chain: Pick<SettlementChain, 'logs'>,
  rpc: RpcRequester,
): ChannelContract {
  const readAt = (block: bigint, data: readonly Hex[]): Promise<readonly Outcome[]> =>
    aggregate(
      {
        ethCall: async (to, input) =>
          (await rpc.request('eth_call', [{ to, data: input }, `0x${block.toString(16)}`])) as Hex,
      },
      data.map((one) => ({ target: BATCH_SETTLEMENT, data: one })),
      READ_MS,
    );

  const logsOf = async (
    events: readonly Hex[],
    ids: readonly Bytes32[],
    from: bigint,
    to: bigint,
  ) => {
    const found = [];
    for (const some of chunks(ids, LOG_CHANNELS)) {
      for (let start = from; start <= to; start += LOG_BLOCKS) {
        const end = start + LOG_BLOCKS - 1n < to ? start + LOG_BLOCKS - 1n : to;
        const topics = [events, some] as const;
        found.push(
          ...(await chain.logs({
            address: BATCH_SETTLEMENT,
            topics,
            fromBlock: start,
            toBlock: end,
          })),
        );
      }
    }
    return found;
  };

  return {
    changed: async (ids, from, to) => {
      const known = new Set(ids);
      const logs = await logsOf(CHANGES, ids, from, to);
      const changed = logs.flatMap(({ topics: [, id] }) => (id ? [bytes32(id)] : []));
      return new Set(changed.filter((id) => known.has(id)));
    },
    states: async (ids, block) => {
      const states: ChannelFacts[] = [];
      for (const some of chunks(ids, READ_CHANNELS)) {
        const calls = some.flatMap((id) => [
          channelCall(id),
          withdrawalCall(id),
          refundNonceCall(id),
        ]);
        const outcomes = await readAt(block, calls);
        states.push(...some.map((_, index) => stateOf(outcomes.slice(3 * index, 3 * index + 3))));
      }
      return states;
    },
    receivable: async (receiver, token, block) => {
      const [claimed, settled] = words(...(await readAt(block, [receiversCall(receiver, token)])));
      return { claimed: told(claimed), settled: told(settled) };
    },
    refundIn: async (channelId, from, to) => {
      const log = (await logsOf(REFUNDED, [channelId], from, to)).at(-1);
      return log && { transaction: log.transactionHash, amount: BigInt(log.data) };
    },
  };
}

function stateOf([channel, withdrawal, nonce]: readonly Outcome[]): ChannelFacts {
  const [balance, claimed] = words(channel);
  const [amount, initiatedAt] = words(withdrawal);
  const [refundNonce] = words(nonce);
  const started = told(initiatedAt);
  return {
    balance: usdcUnits(told(balance)),
    claimed: usdcUnits(told(claimed)),
    refundNonce: told(refundNonce),
    ...(started > 0n && {
      withdrawal: { amount: usdcUnits(told(amount)), initiatedAt: unixSeconds(Number(started)) },
    }),
  };
}

/** The 32-byte words that a call returned. */
function words(outcome?: Outcome): readonly bigint[] {
  if (!outcome?.success) return [];
  return (outcome.returnData.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
}

function told(word: bigint | undefined): bigint {
  if (word === undefined) throw new Error('the settlement contract did not answer');
  return word;
}

function chunks<T>(list: readonly T[], size: number): readonly T[][] {
  const starts = Array.from({ length: Math.ceil(list.length / size) }, (_, index) => index * size);
  return starts.map((start) => list.slice(start, start + size));
}
