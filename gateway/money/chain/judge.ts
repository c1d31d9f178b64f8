import { keccak256 } from 'viem';
import { z } from 'zod';

/**
 * Does the answer fit the question? An endpoint whose answer does not is broken or lying, and its
 * other answers are worth nothing either.
 */
const quantity = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/);
const data = z.string().regex(/^0x([0-9a-fA-F]{2})*$/);
const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/);

const block = z.object({ number: quantity, hash, timestamp: quantity });
const log = z.object({
  address: data,
  topics: z.array(hash).max(4),
  data,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
});
const receipt = z.object({
  transactionHash: hash,
  blockNumber: quantity,
  blockHash: hash,
  status: z.enum(['0x0', '0x1']),
  logs: z.array(log),
});

export type Block = z.infer<typeof block>;

/** The block of an answer that has passed `findLie`. */
export const parseBlock = (answer: unknown): Block | undefined => block.safeParse(answer).data;

const same = (a: string, b: unknown) =>
  typeof b === 'string' && a.toLowerCase() === b.toLowerCase();

/** What is wrong with the answer, in a few words; undefined when nothing is. */
export function findLie(
  method: string,
  params: readonly unknown[],
  answer: unknown,
  chainId: number,
): string | undefined {
  switch (method) {
    case 'eth_chainId':
      return isQuantity(answer) && Number(answer) === chainId
        ? undefined
        : `chain id ${isQuantity(answer) ? Number(answer) : 'unknown'} instead of ${chainId}`;
    case 'eth_blockNumber':
    case 'eth_getBalance':
    case 'eth_getTransactionCount':
    case 'eth_gasPrice':
    case 'eth_maxPriorityFeePerGas':
    case 'eth_estimateGas':
      return isQuantity(answer) ? undefined : 'not a quantity';
    case 'eth_call':
    case 'eth_getCode':
      return data.safeParse(answer).success ? undefined : 'not bytes';
    case 'eth_sendRawTransaction':
      return judgeBroadcast(params, answer);
    case 'eth_getBlockByNumber':
    case 'eth_getBlockByHash':
      return judgeBlock(params, answer);
    case 'eth_getTransactionReceipt':
      return judgeReceipt(params, answer);
    case 'eth_getLogs':
      return judgeLogs(params, answer);
    default:
      return undefined;
  }
}

const isQuantity = (answer: unknown): answer is string => quantity.safeParse(answer).success;

function judgeBroadcast([raw]: readonly unknown[], answer: unknown): string | undefined {
  const bytes = data.safeParse(raw);
  if (!bytes.success) return undefined; // Not an answer's fault.
  return same(keccak256(bytes.data as `0x${string}`), answer)
    ? undefined
    : 'another transaction hash';
}

function judgeBlock([wanted]: readonly unknown[], answer: unknown): string | undefined {
  // A block that is still being made has neither number nor hash.
  if (wanted === 'pending') return undefined;
  if (answer === null) return wanted === 'latest' ? 'no latest block' : undefined;
  const found = block.safeParse(answer);
  if (!found.success) return 'not a block';
  if (typeof wanted !== 'string' || !wanted.startsWith('0x')) return undefined;
  const { hash: foundHash, number } = found.data;
  const isWanted =
    wanted.length === 66 ? same(foundHash, wanted) : BigInt(number) === BigInt(wanted);
  return isWanted ? undefined : 'another block';
}

function judgeReceipt([wanted]: readonly unknown[], answer: unknown): string | undefined {
  if (answer === null) return undefined;
  const found = receipt.safeParse(answer);
  if (!found.success) return 'not a receipt';
  const { transactionHash, blockHash, logs } = found.data;
  if (!same(transactionHash, wanted)) return 'the receipt of another transaction';
  const isForeign = logs.some(
    (one) => !same(one.transactionHash, transactionHash) || !same(one.blockHash, blockHash),
  );
  return isForeign ? "another transaction's logs" : undefined;
}

const filter = z.object({
  address: data.optional(),
  topics: z.array(z.union([hash, z.array(hash), z.null()])).optional(),
  fromBlock: z.string().optional(),
  toBlock: z.string().optional(),
});

function judgeLogs([wanted]: readonly unknown[], answer: unknown): string | undefined {
  const found = z.array(log).safeParse(answer);
  if (!found.success) return 'not logs';
  const asked = filter.safeParse(wanted);
  if (!asked.success) return undefined;
  const { address, topics = [], fromBlock, toBlock } = asked.data;
  const isNumber = (text: string | undefined) => text?.startsWith('0x') === true;
  for (const one of found.data) {
    if (address !== undefined && !same(one.address, address)) return "another contract's logs";
    const fits = topics.every((topic, at) => {
      const options = topic === null ? undefined : [topic].flat();
      return options === undefined || options.some((option) => same(option, one.topics[at]));
    });
    if (!fits) return 'logs with other topics';
    const number = BigInt(one.blockNumber);
    if (isNumber(fromBlock) && number < BigInt(fromBlock ?? 0)) return 'logs of other blocks';
    if (isNumber(toBlock) && number > BigInt(toBlock ?? 0)) return 'logs of other blocks';
  }
  return undefined;
}

/** Methods whose answers decide about money once they say something definite. */
export function isDecisive(method: string, params: readonly unknown[], answer: unknown): boolean {
  if (method === 'eth_getTransactionReceipt') return answer !== null;
  if (method !== 'eth_call') return false;
  const [, at] = params;
  return typeof at === 'string' && at.startsWith('0x');
}

/** What a node that knows of blocks in the making gives as the hash of such a block. */
const NO_HASH = `0x${'0'.repeat(64)}`;

/**
 * What two endpoints both say, whatever further fields each of them adds; undefined when they
 * contradict each other. Of a transaction whose block only one of them has in full, both say that
 * it is in a block that is still being made.
 */
export function agreement(method: string, first: unknown, second: unknown): unknown {
  if (essence(method, first) === essence(method, second)) return first;
  const [one, other] = [receipt.safeParse(first).data, receipt.safeParse(second).data];
  if (method !== 'eth_getTransactionReceipt' || !one || !other) return undefined;
  if ((one.blockHash === NO_HASH) === (other.blockHash === NO_HASH)) return undefined;
  const [open, finished] = one.blockHash === NO_HASH ? [first, other] : [second, one];
  const withoutHash = JSON.stringify(finished).replaceAll(finished.blockHash, NO_HASH);
  return essence(method, open) === essence(method, JSON.parse(withoutHash)) ? open : undefined;
}

function essence(method: string, answer: unknown): string {
  const found = method === 'eth_getTransactionReceipt' ? receipt.safeParse(answer).data : undefined;
  return JSON.stringify(found ?? answer).toLowerCase();
}
