import { expect, test } from '@jest/globals';
import { bytes32, unixSeconds, type Bytes32 } from '../../../gateway/ground/domain/units.js';
import type { ChainBlock, Receipt } from '../../../gateway/money/settlement/chain.js';
import { findCanonical } from '../../../gateway/money/settlement/canonical.js';

const hashOf = (number: number): Bytes32 => bytes32(`0x${number.toString(16).padStart(64, 'b')}`);
const OTHER = bytes32(`0x${'0f'.repeat(32)}`);

/** A chain whose newest block is 9; `asked` tells which blocks it was asked for. */
function chainOfNine() {
  const asked: (string | bigint)[] = [];
  const block = (which: 'latest' | 'safe' | bigint): Promise<ChainBlock> => {
    asked.push(which);
    const number = typeof which === 'bigint' ? which : 9n;
    const hash = hashOf(Number(number));
    return Promise.resolve({ number, hash, timestamp: unixSeconds(1), baseFee: 1n });
  };
  return { block, asked };
}

const receiptIn = (number: number, hash = hashOf(number)): Receipt => ({
  hash: bytes32(`0x${'aa'.repeat(32)}`),
  block: { number: BigInt(number), hash },
  succeeded: true,
  gasUsed: 1n,
  gasPrice: 1n,
  publishingFee: 0n,
  logs: [],
});

test.each([
  ['of the newest block', receiptIn(9), true, ['latest']],
  ['of an older block', receiptIn(7), true, ['latest', 7n]],
  ['whose hash no block has', receiptIn(9, OTHER), false, ['latest']],
  ['that was on its way while its block was made', receiptIn(8, OTHER), false, ['latest', 8n]],
  ['of a block to come', receiptIn(10), false, ['latest']],
  ['of a block without a hash', receiptIn(10, bytes32(`0x${'00'.repeat(32)}`)), false, []],
] as const)('a receipt %s counts as the chain says', async (_, receipt, isCanonical, calls) => {
  const chain = chainOfNine();
  const { canonical } = await findCanonical(chain, [receipt]);
  expect(canonical).toEqual(isCanonical ? [receipt] : []);
  expect(chain.asked).toEqual(calls);
});

test('a block that was found before is not asked for again', async () => {
  const chain = chainOfNine();
  const receipts = [receiptIn(6), receiptIn(6), receiptIn(7)];
  const { canonical, head } = await findCanonical(chain, receipts, new Set([hashOf(7)]));
  expect(canonical).toEqual(receipts);
  expect(head).toBe(9n);
  expect(chain.asked).toEqual(['latest', 6n]);
});
