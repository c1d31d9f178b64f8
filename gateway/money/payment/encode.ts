import { toFunctionSelector } from 'viem';
import type { Address, Hex } from '../../ground/domain/units.js';

/**
 * ABI encoding of the few calls that every payment makes. A general encoder takes some hundred
 * microseconds for each, and a full question to the chain has a hundred of them: long enough to
 * hold up everybody else. A test compares every call here with the general encoder's.
 */

/** One 32-byte word, as 64 hex digits: an unsigned integer, an address, or 32 bytes. */
export function word(value: bigint | number | Hex): string {
  return (typeof value === 'string' ? value.slice(2) : value.toString(16)).padStart(64, '0');
}

/** Encodes calls of one function whose arguments are all static words. */
export function wordsEncoder(signature: string): (...words: (bigint | number | Hex)[]) => Hex {
  const selector = toFunctionSelector(`function ${signature}`);
  return (...words) => `${selector}${words.map(word).join('')}`;
}

/** A call of a batch, and whether the batch goes on when it fails. */
interface BatchedCall {
  readonly target: Address;
  readonly data: Hex;
  readonly mayFail: boolean;
}

const AGGREGATE = toFunctionSelector('function aggregate3((address,bool,bytes)[])');
const WORD_BYTES = 32;

/** `Multicall3.aggregate3(Call3[])` (Solidity ABI, "Formal Specification of the Encoding"). */
export function encodeAggregate(calls: readonly BatchedCall[]): Hex {
  const tuples = calls.map(encodeCall);
  // Offsets count from behind the length.
  let offset = calls.length * WORD_BYTES;
  const offsets = tuples.map((tuple) => {
    const here = word(offset);
    offset += tuple.length / 2;
    return here;
  });
  const head = word(WORD_BYTES) + word(calls.length);
  return `${AGGREGATE}${head}${offsets.join('')}${tuples.join('')}`;
}

/** Target, whether it may fail, the offset of the bytes (three words on), their length, the bytes. */
function encodeCall({ target, data, mayFail }: BatchedCall): string {
  const bytes = data.slice(2);
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0');
  return (
    word(target) + word(mayFail ? 1 : 0) + word(3 * WORD_BYTES) + word(bytes.length / 2) + padded
  );
}
