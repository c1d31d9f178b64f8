import { describe, expect, test } from '@jest/globals';
import { address, bytes32, unixSeconds, usdcUnits } from '../../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../../gateway/money/payment/authorization.js';
import type { ChainAnswer } from '../../../gateway/money/payment/on-chain.js';
import { createRounds } from '../../../gateway/money/payment/rounds.js';
import { standingClock, terms } from '../../support/presented.js';

const facts = {
  chainId: 8453,
  blockNumber: 1n,
  timestamp: unixSeconds(1_800_000_000),
  baseFeePerGas: 1n,
};
const GOOD: ChainAnswer = { kind: 'good', facts, payerCode: { kind: 'none' } };

/** An authorization of the payer with this number. */
function of(payer: number): SignedAuthorization {
  const { chainId, asset, payTo } = terms();
  return {
    chainId,
    asset,
    from: address(`0x${payer.toString(16).padStart(40, '0')}`),
    to: payTo,
    value: usdcUnits(50n),
    validAfter: unixSeconds(0),
    validBefore: unixSeconds(1_800_000_300),
    nonce: bytes32(`0x${'07'.repeat(32)}`),
    signature: '0x00',
  };
}

/** Rounds whose payers are noted, and whose answers a test decides. */
function noted(answer: (payers: readonly number[]) => readonly ChainAnswer[]) {
  const rounds: number[][] = [];
  const ask = createRounds(async (authorizations) => {
    const payers = authorizations.map(({ from }) => Number(from));
    rounds.push(payers);
    await Promise.resolve();
    return answer(payers);
  }, standingClock());
  return { rounds, ask };
}

describe('a round of questions to the chain', () => {
  test('is never shared by a payer that may be a contract', async () => {
    const { rounds, ask } = noted((payers) => payers.map(() => GOOD));
    await Promise.all([1, 2, 3, 4].map((payer) => ask(of(payer), payer > 2 ? 'contract' : 'key')));
    expect(rounds).toContainEqual([3]);
    expect(rounds).toContainEqual([4]);
  });

  test('that left somebody without an answer is made up for by a question of its own', async () => {
    const { rounds, ask } = noted((payers) =>
      payers.map((payer) => (payers.length > 1 && payer === 3 ? { kind: 'silent', facts } : GOOD)),
    );
    const answers = await Promise.all([1, 2, 3].map((payer) => ask(of(payer), 'key')));
    expect(answers).toEqual([GOOD, GOOD, GOOD]);
    expect(rounds).toEqual([[1], [2, 3], [3]]);
  });

  test('that was lost with several payers in it is not shared by them the next time', async () => {
    const { rounds, ask } = noted((payers) => {
      if (payers.length > 1) throw new Error('out of gas');
      return payers.map(() => GOOD);
    });
    const first = await Promise.allSettled([1, 2, 3].map((payer) => ask(of(payer), 'key')));
    expect(first.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    const again = await Promise.all([2, 3].map((payer) => ask(of(payer), 'key')));
    expect(again).toEqual([GOOD, GOOD]);
    expect(rounds.slice(2)).toEqual([[2], [3]]);
  });
});
