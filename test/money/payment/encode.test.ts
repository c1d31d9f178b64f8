import { expect, test } from '@jest/globals';
import { encodeFunctionData } from 'viem';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import { usdcAbi, usdcKeyAbi } from '../../../contracts-abi/usdc.js';
import type { Hex } from '../../../gateway/ground/domain/units.js';
import { encodeAggregate, wordsEncoder } from '../../../gateway/money/payment/encode.js';
import { transferCalls } from '../../../gateway/money/payment/transfer.js';
import { realRandom } from '../../support/ports.js';
import { someAuthorization } from '../../support/payments.js';

const bytes = (length: number): Hex => `0x${Buffer.from(realRandom.bytes(length)).toString('hex')}`;

test('calls of static words are those of the general encoder', () => {
  const { from, nonce } = someAuthorization();
  expect(wordsEncoder('authorizationState(address,bytes32)')(from, nonce)).toBe(
    encodeFunctionData({
      abi: usdcAbi,
      functionName: 'authorizationState',
      args: [from, nonce],
    }),
  );
  expect(wordsEncoder('balanceOf(address)')(from)).toBe(
    encodeFunctionData({ abi: usdcAbi, functionName: 'balanceOf', args: [from] }),
  );
});

test('a key’s transfer is that of the general encoder', () => {
  for (let count = 0; count < 50; count += 1) {
    const one = someAuthorization({ signature: `${bytes(64)}1b` });
    const [r, s] = [one.signature.slice(2, 66), one.signature.slice(66, 130)];
    const { from, to, value, validAfter, validBefore, nonce } = one;
    expect(transferCalls(one)).toEqual([
      {
        target: one.asset,
        data: encodeFunctionData({
          abi: usdcKeyAbi,
          functionName: 'transferWithAuthorization',
          args: [
            ...([from, to, value, BigInt(validAfter), BigInt(validBefore), nonce] as const),
            27,
            `0x${r}`,
            `0x${s}`,
          ],
        }),
      },
    ]);
  }
});

test('batches of calls of any length are those of the general encoder', () => {
  for (const lengths of [[], [0], [1], [4, 31, 32, 33], [36, 292, 68, 500, 64]]) {
    const calls = lengths.map((length, at) => ({
      target: someAuthorization().from,
      data: bytes(length),
      mayFail: at % 2 === 0,
    }));
    const args = calls.map(({ target, data, mayFail }) => ({
      target,
      allowFailure: mayFail,
      callData: data,
    }));
    expect(encodeAggregate(calls)).toBe(
      encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [args] }),
    );
  }
});
