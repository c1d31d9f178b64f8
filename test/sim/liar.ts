import { keccak256, numberToHex, type Hex } from 'viem';
import type { Chain } from './chain/chain.js';
import { CHAIN_ID } from './chain/chain.js';
import type { Dice } from './dice.js';
import type { Liar } from './network.js';
import type { Trace } from './trace.js';

const SUBJECTS = [
  'eth_chainId',
  'eth_sendRawTransaction',
  'eth_getBlockByNumber',
  'eth_getTransactionReceipt',
] as const;

/**
 * What a broken or malicious endpoint says. Most of these lies contradict the question, and no
 * endpoint gets away with them. A receipt that is made up or withheld contradicts nothing: that is
 * told only where an honest endpoint can be asked as well (`mayForge`), for nobody could know
 * better without one.
 */
export function createLiar(
  chain: Chain,
  mayForge: () => boolean,
  index: number,
  { dice, trace }: { dice: Dice; trace: Trace },
): Liar {
  const told = <T>(what: string, lie: T): T => {
    trace.count(`rpc.lie.${what}`);
    return lie;
  };
  // Most lie about one thing only: who says that it is another chain is not asked anything more.
  const subject = dice.pick([
    'eth_getTransactionReceipt',
    'eth_getTransactionReceipt',
    ...SUBJECTS,
  ]);
  return (method, params, answer) => {
    if (method !== subject) return undefined;
    switch (method) {
      case 'eth_chainId':
        return told('chain-id', numberToHex(CHAIN_ID + 1));
      case 'eth_sendRawTransaction':
        return told('transaction-hash', keccak256(answer as Hex));
      case 'eth_getBlockByNumber': {
        if (!mayForge() || params[0] !== 'latest') return undefined;
        const block = answer as { number: Hex; timestamp: Hex };
        const [number, timestamp] = [Number(block.number) + 300, Number(block.timestamp) + 600];
        const lie = { ...block, number: numberToHex(number), timestamp: numberToHex(timestamp) };
        return told('future-block', lie);
      }
      case 'eth_getTransactionReceipt': {
        if (dice.chance(0.3) || !mayForge()) {
          const other = otherReceipt(chain, params[0] as Hex, answer);
          return other && told('foreign-receipt', other);
        }
        if (answer !== null) return told('withheld-receipt', null);
        return told('forged-receipt', forged(chain, params[0] as Hex, index));
      }
      default:
        return undefined;
    }
  };
}

/** The receipt of another transaction than the one asked for. */
function otherReceipt(_chain: Chain, wanted: Hex, answer: unknown): object | undefined {
  if (answer === null) return undefined;
  return { ...(answer as object), transactionHash: keccak256(wanted) };
}

/** The receipt of a failure that never was; no two endpoints make up the same. */
function forged({ blocks, head }: Chain, hash: Hex, index: number): object {
  const block = blocks.at(-1 - index) ?? head;
  return {
    transactionHash: hash,
    blockNumber: numberToHex(block.number),
    blockHash: block.hash,
    status: '0x0',
    gasUsed: numberToHex(30_000),
    effectiveGasPrice: numberToHex(head.baseFee),
    logs: [],
  };
}
