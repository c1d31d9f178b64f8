import { describe, expect, test } from '@jest/globals';
import { agreement } from '../../../gateway/money/chain/judge.js';

const METHOD = 'eth_getTransactionReceipt';
const NO_HASH = `0x${'0'.repeat(64)}`;
const HASH = `0x${'ab'.repeat(32)}`;

const receipt = (blockHash: string, changes: object = {}) => ({
  transactionHash: `0x${'11'.repeat(32)}`,
  blockNumber: '0x10',
  blockHash,
  status: '0x1',
  logs: [
    {
      address: `0x${'22'.repeat(20)}`,
      topics: [`0x${'33'.repeat(32)}`],
      data: '0x01',
      blockNumber: '0x10',
      blockHash,
      transactionHash: `0x${'11'.repeat(32)}`,
    },
  ],
  ...changes,
});

describe('of two endpoints', () => {
  test('that show the same receipt, each may add fields of its own', () => {
    const first = receipt(HASH, { l1Fee: '0x1' });
    expect(agreement(METHOD, first, receipt(HASH))).toBe(first);
  });

  test('one that shows the block in the making and one that shows it finished agree on the former', () => {
    const [open, finished] = [receipt(NO_HASH), receipt(HASH)];
    expect(agreement(METHOD, open, finished)).toBe(open);
    expect(agreement(METHOD, finished, open)).toBe(open);
  });

  test.each([
    ['outcomes', { status: '0x0' }],
    ['logs', { logs: [] }],
    ['block numbers', { blockNumber: '0x11' }],
  ])('that show different %s, nothing follows, whichever block is finished', (_, changes) => {
    const other = receipt(HASH, changes);
    for (const hash of [NO_HASH, HASH]) {
      expect(agreement(METHOD, receipt(hash), other)).toBeUndefined();
      expect(agreement(METHOD, other, receipt(hash))).toBeUndefined();
    }
  });

  test('that show different finished blocks, nothing follows', () => {
    const other = receipt(`0x${'cd'.repeat(32)}`);
    expect(agreement(METHOD, receipt(HASH), other)).toBeUndefined();
  });
});
