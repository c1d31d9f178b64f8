import { bytesToHex, decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem';
import { z } from 'zod';
import { parseAddress, parseBytes32, unixSeconds } from '../../ground/domain/units.js';
import type { Address, Bytes32, Hex, TransactionHash } from '../../ground/domain/units.js';
import { payerCodeOf } from '../payment/payer-code.js';
import { GAS_PRICE_ORACLE, publishingFeeCall } from '../payment/publishing-fee.js';
import type {
  BroadcastAnswer,
  ChainBlock,
  ChainLog,
  LogFilter,
  Receipt,
  SettlementChain,
} from './chain.js';

/** A JSON-RPC endpoint (or several behind one face) that answers within its own deadline. */
export interface RpcRequester {
  /**
   * @throws an object with a numeric `code` and a `message` when the node answered with a JSON-RPC
   *   error, and anything else when there was no answer.
   */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
}

const ABI = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
]);

const address = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue('not an address');
  return z.NEVER;
});
const hash = z.string().transform((text, context): Bytes32 => {
  const parsed = parseBytes32(text);
  if (parsed) return parsed;
  context.addIssue('not 32 bytes of hex');
  return z.NEVER;
});
const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform((text) => BigInt(text));
const data = z
  .string()
  .regex(/^0x([0-9a-f]{2})*$/i)
  .transform((text) => text.toLowerCase() as Hex);

const blockSchema = z.object({
  number: quantity,
  hash,
  timestamp: quantity,
  baseFeePerGas: quantity.optional(),
});

const logSchema = z
  .object({
    address,
    topics: z.array(data).max(4),
    data,
    transactionHash: hash,
    blockNumber: quantity,
    blockHash: hash,
  })
  .transform((log): ChainLog => ({
    address: log.address,
    topics: log.topics,
    data: log.data,
    transactionHash: log.transactionHash,
    block: { number: log.blockNumber, hash: log.blockHash },
  }));

const receiptSchema = z
  .object({
    transactionHash: hash,
    blockNumber: quantity,
    blockHash: hash,
    status: quantity,
    gasUsed: quantity,
    effectiveGasPrice: quantity,
    l1Fee: quantity.optional(),
    logs: z.array(logSchema),
  })
  .transform((receipt): Receipt => ({
    hash: receipt.transactionHash,
    block: { number: receipt.blockNumber, hash: receipt.blockHash },
    succeeded: receipt.status === 1n,
    gasUsed: receipt.gasUsed,
    gasPrice: receipt.effectiveGasPrice,
    publishingFee: receipt.l1Fee ?? 0n,
    logs: receipt.logs,
  }));

const rpcError = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });

/** The settlement's view of an Ethereum JSON-RPC endpoint; every answer is parsed, none trusted. */
export function createRpcChain(chainId: number, rpc: RpcRequester): SettlementChain {
  const call = async <T>(schema: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T> =>
    schema.parse(await rpc.request(method, params));

  const receipt = async (wanted: TransactionHash): Promise<Receipt | undefined> => {
    const found = await call(receiptSchema.nullable(), 'eth_getTransactionReceipt', wanted);
    if (found && found.hash !== wanted) throw new Error('the endpoint sent another receipt');
    return found ?? undefined;
  };

  return {
    chainId,
    block: async (which): Promise<ChainBlock> => {
      const tag = typeof which === 'bigint' ? toQuantity(which) : which;
      const block = await call(blockSchema, 'eth_getBlockByNumber', tag, false);
      return {
        number: block.number,
        hash: block.hash,
        timestamp: unixSeconds(Number(block.timestamp)),
        baseFee: block.baseFeePerGas ?? 0n,
      };
    },
    receipts: (hashes) => Promise.all(hashes.map(receipt)),
    broadcast: async (raw) => {
      try {
        await call(hash, 'eth_sendRawTransaction', bytesToHex(raw));
        return { kind: 'accepted' };
      } catch (error) {
        return broadcastAnswer(error);
      }
    },
    nonce: (account) => call(quantity, 'eth_getTransactionCount', account, 'latest'),
    balance: (account) => call(quantity, 'eth_getBalance', account, 'latest'),
    publishingFee: async (transactionBytes) => {
      const request = { to: GAS_PRICE_ORACLE, data: publishingFeeCall(transactionBytes) };
      const output = await call(data, 'eth_call', request, 'latest');
      // An account without code answers nothing: there is no layer below.
      return output.length === 66 ? BigInt(output) : 0n;
    },
    logs: ({ address: emitter, topics, fromBlock, toBlock }: LogFilter) =>
      call(z.array(logSchema), 'eth_getLogs', {
        address: emitter,
        topics,
        fromBlock: toQuantity(fromBlock),
        toBlock: toBlock === undefined ? 'latest' : toQuantity(toBlock),
      }),
    revertData: async ({ from, to, data: input }, block) => {
      try {
        const request = { from, to, data: bytesToHex(input) };
        await call(data, 'eth_call', request, toQuantity(block));
        return undefined;
      } catch (error) {
        return revertDataOf(error);
      }
    },
    estimateGas: async ({ from, to, data: input, maxFeePerGas, maxPriorityFeePerGas }) => {
      try {
        return await call(quantity, 'eth_estimateGas', {
          ...{ from, to, data: bytesToHex(input) },
          maxFeePerGas: toQuantity(maxFeePerGas),
          maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas),
        });
      } catch (error) {
        if (isFailure(error)) return undefined;
        throw error;
      }
    },
    payerCode: async (account) => payerCodeOf(await call(data, 'eth_getCode', account, 'latest')),
    isAuthorizationUsed: async (asset, authorizer, nonce, block) => {
      const input = encodeFunctionData({
        abi: ABI,
        functionName: 'authorizationState',
        args: [authorizer, nonce],
      });
      const params = [{ to: asset, data: input }, toQuantity(block)];
      const output = await call(data, 'eth_call', ...params);
      return decodeFunctionResult({ abi: ABI, functionName: 'authorizationState', data: output });
    },
  };
}

const toQuantity = (value: bigint): Hex => `0x${value.toString(16)}`;

/**
 * What a node's refusal of a transaction means. Nodes have no common codes for this, so the words
 * of geth, reth, erigon, nethermind and anvil are matched. Nothing is decided on these words alone.
 * @throws the error again when there was no answer.
 */
function broadcastAnswer(error: unknown): BroadcastAnswer {
  const parsed = rpcError.safeParse(error);
  if (!parsed.success) throw error;
  const { message } = parsed.data;
  if (/already known|already imported|known transaction|alreadyknown/i.test(message)) {
    return { kind: 'accepted' };
  }
  if (/nonce too low|nonce is too low|oldnonce|invalid nonce|nonce has already/i.test(message)) {
    return { kind: 'nonce-used' };
  }
  if (/underpriced|fee too low|feetoolow|max fee per gas less/i.test(message)) {
    return { kind: 'underpriced' };
  }
  if (/insufficient funds|insufficient balance|doesn't have enough funds/i.test(message)) {
    return { kind: 'out-of-gas-money' };
  }
  return { kind: 'refused', message: message.slice(0, 200) };
}

/** Whether a node says that a transaction fails, or needs more gas than it can be given. */
function isFailure(error: unknown): boolean {
  const parsed = rpcError.safeParse(error);
  if (!parsed.success) return false;
  const { code, message } = parsed.data;
  return code === 3 || /revert|out of gas|gas required|opcode|invalidfeopcode/i.test(message);
}

/**
 * The data of a reverted call: nodes answer with an error of code 3 or with "revert" in its text.
 * @throws the error again when it is not a revert.
 */
function revertDataOf(error: unknown): Hex {
  const parsed = rpcError.safeParse(error);
  if (!parsed.success) throw error;
  const { code, message, data: payload } = parsed.data;
  if (code !== 3 && !/revert/i.test(message)) throw error;
  return data.safeParse(payload).data ?? '0x';
}
