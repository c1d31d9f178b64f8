import { numberToHex } from 'viem';
import { address, type Bytes32, type Hex } from '../../../gateway/ground/domain/units.js';
import { CODE_HASHES } from '../../../gateway/money/payment/code-question.js';
import type { SimSigner } from '../relayers.js';
import { CHAIN_ID, type Block, type Chain, type Mined, type MinedLog } from './chain.js';
import { callContract, codeAt } from './contracts.js';
import { copyState } from './state.js';
import { readSigned } from './transactions.js';

/** An error as JSON-RPC has it. */
export class NodeError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Hex,
  ) {
    super(message);
  }
}

type Params = readonly unknown[];

/** Says of every account that it has code: whose signature is good, the token's rules decide. */
function codeHashes(data: Hex): Hex {
  if (!data.startsWith(CODE_HASHES)) throw new NodeError(-32000, 'execution reverted');
  return `0x${'1'.repeat(data.length - CODE_HASHES.length)}`;
}

/** One node's honest answers: what it knows of the chain, `lag` blocks behind the newest. */
export function createNode(chain: Chain, signers: readonly SimSigner[], lag: () => number) {
  const head = (): Block => chain.at(chain.head.number - lag()) ?? chain.blocks[0] ?? chain.head;

  const blockAt = (tag: unknown): Block => {
    if (tag === 'latest' || tag === undefined) return head();
    if (tag === 'safe' || tag === 'finalized') return chain.safe(head());
    const number = Number(tag);
    const block = number <= head().number ? chain.at(number) : undefined;
    if (!block) throw new NodeError(-32000, 'header not found');
    return block;
  };

  const call = ([request, tag]: Params): Hex => {
    const { to, data } = request as { to?: string; data: Hex };
    if (to === undefined) return codeHashes(data);
    const { number, timestamp, baseFee, after } = blockAt(tag);
    const environment = { chainId: CHAIN_ID, number, timestamp, baseFee };
    const result = callContract(copyState(after), address(to), data, environment);
    if (result.ok) return result.data;
    throw new NodeError(3, 'execution reverted', result.data);
  };

  const send = ([raw]: Params): Hex => {
    const transaction = readSigned(raw as Hex, signers);
    if (!transaction) throw new NodeError(-32000, 'invalid sender');
    const answer = chain.submit(transaction);
    if ('error' in answer) throw new NodeError(-32000, answer.error);
    return answer.hash;
  };

  const logs = ([filter]: Params): object[] => {
    const wanted = filter as { address: string; topics: (string[] | null)[] } & {
      fromBlock: string;
      toBlock: string;
    };
    const last = wanted.toBlock === 'latest' ? head().number : Number(wanted.toBlock);
    const found: object[] = [];
    for (let number = Number(wanted.fromBlock); number <= last; number += 1) {
      if (number > head().number) break;
      const all = chain.at(number)?.mined.flatMap((mined) => mined.logs) ?? [];
      const fits = (log: MinedLog) =>
        log.address === wanted.address.toLowerCase() &&
        wanted.topics.every((options, at) => !options || options.includes(log.topics[at] ?? ''));
      found.push(...all.filter(fits).map(logJson));
    }
    return found;
  };

  return (method: string, params: Params): unknown => {
    switch (method) {
      case 'eth_chainId':
        return numberToHex(CHAIN_ID);
      case 'eth_gasPrice':
        return numberToHex(head().baseFee);
      case 'eth_getBlockByNumber':
        return blockJson(blockAt(params[0]));
      case 'eth_getTransactionCount':
        return numberToHex(head().after.nonces.get(address(String(params[0]))) ?? 0n);
      case 'eth_getBalance': {
        const wei = head().after.ether.get(address(String(params[0]))) ?? 0n;
        return numberToHex(wei > 0n ? wei : 0n);
      }
      case 'eth_getTransactionReceipt': {
        const isAtTip = head() === chain.head;
        const found =
          chain.find(params[0] as Bytes32, head()) ??
          (isAtTip ? chain.preview(params[0] as Bytes32) : undefined);
        return found ? receiptJson(found.mined, found.block) : null;
      }
      case 'eth_sendRawTransaction':
        return send(params);
      case 'eth_call':
        return call(params);
      case 'eth_estimateGas':
        call([params[0], 'latest']);
        return numberToHex(95_000n);
      case 'eth_getCode':
        return codeAt(head().after, address(String(params[0])));
      case 'eth_getLogs':
        return logs(params);
      default:
        throw new NodeError(-32601, `the method ${method} does not exist`);
    }
  };
}

export type Answer = ReturnType<typeof createNode>;

function blockJson({ number, hash, timestamp, baseFee }: Block): object {
  return {
    number: numberToHex(number),
    hash,
    timestamp: numberToHex(timestamp),
    baseFeePerGas: numberToHex(baseFee),
  };
}

function receiptJson({ transaction, succeeded, gasUsed, gasPrice, logs }: Mined, block: Block) {
  return {
    transactionHash: transaction.hash,
    blockNumber: numberToHex(block.number),
    blockHash: block.hash,
    status: succeeded ? '0x1' : '0x0',
    gasUsed: numberToHex(gasUsed),
    effectiveGasPrice: numberToHex(gasPrice),
    logs: logs.map(logJson),
  };
}

function logJson(log: MinedLog): object {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    transactionHash: log.transaction,
    blockNumber: numberToHex(log.block.number),
    blockHash: log.block.hash,
  };
}
