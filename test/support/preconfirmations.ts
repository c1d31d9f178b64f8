/**
 * An endpoint that knows of blocks in the making, in front of a chain whose blocks a test makes:
 *   const flash = await startPreconfirming(chain);          // flash.url in place of chain.rpcUrl
 *   await flash.preconfirm(hash);                           // what waits in the pool has a receipt now
 *   await flash.preconfirm(hash, { blockHash: `0x…` });     // with a hash, as some nodes give one
 *   flash.vanish(hash); await flash.stop();
 * The chain's own receipt takes the place of a preconfirmed one. What the receipt holds is what the
 * EVM says when it runs the transaction on the newest block.
 */
import { numberToHex, type Hex } from 'viem';
import type { Bytes32 } from '../../gateway/ground/domain/units.js';
import type { TestChain } from './chain.js';
import { startRpcProxy } from './rpc-proxy.js';

const NO_HASH: Hex = `0x${'0'.repeat(64)}`;

export async function startPreconfirming(chain: TestChain) {
  const receipts = new Map<string, object>();
  const proxy = await startRpcProxy(chain.rpcUrl);
  proxy.rules([
    {
      method: 'eth_getTransactionReceipt',
      fault: {
        kind: 'answer',
        change: (honest, { params: [hash] }) => {
          const made = receipts.get(String(hash));
          return 'result' in honest && honest.result === null && made ? { result: made } : honest;
        },
      },
    },
  ]);
  return {
    url: proxy.url,
    calls: proxy.calls,
    preconfirm: async (hash: Bytes32, { blockHash = NO_HASH }: { blockHash?: Hex } = {}) => {
      receipts.set(hash, await receiptOf(chain, hash, blockHash));
    },
    vanish: (hash: Bytes32) => receipts.delete(hash),
    stop: () => proxy.stop(),
  };
}

async function receiptOf(chain: TestChain, hash: Bytes32, blockHash: Hex): Promise<object> {
  const { from, to, input, gas, gasPrice } = await chain.client.getTransaction({ hash });
  const [block] = await chain.client.simulateBlocks({
    blocks: [{ calls: [{ account: from, to, data: input, gas }] }],
  });
  const [result] = block?.calls ?? [];
  if (!block || !result) throw new Error('the transaction could not be run');
  const where = { blockHash, blockNumber: numberToHex((await chain.client.getBlockNumber()) + 1n) };
  const { status, gasUsed, logs = [] } = result;
  return {
    ...where,
    transactionHash: hash,
    status: status === 'success' ? '0x1' : '0x0',
    gasUsed: numberToHex(gasUsed),
    effectiveGasPrice: numberToHex(gasPrice ?? 1n),
    logs: logs.map(({ address, topics, data }) => ({
      ...where,
      transactionHash: hash,
      address,
      topics,
      data,
    })),
  };
}
