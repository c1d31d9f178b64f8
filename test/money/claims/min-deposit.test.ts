import { expect, test } from '@jest/globals';
import { usdcUnits } from '../../../gateway/ground/domain/units.js';
import { MinDeposit, minDepositFor } from '../../../gateway/money/claims/min-deposit.js';

const floor = usdcUnits(50_000n);

test('the least deposit keeps its costs within the share, in two digits', () => {
  expect(minDepositFor(2_302n, 5, floor)).toBe(50_000n);
  expect(minDepositFor(23_021n, 5, floor)).toBe(470_000n);
  expect(minDepositFor(23_021n, 100, usdcUnits(1n))).toBe(24_000n);
  expect(minDepositFor(0n, 5, usdcUnits(7n))).toBe(7n);
});

test('a deposit that was asked for before gas rose is honoured for a while', async () => {
  let [nowMs, cost] = [0, 0n];
  const one = new MinDeposit({
    costs: {
      deposit: () => Promise.resolve(cost),
      claimRow: () => Promise.resolve(0n),
      sweep: () => Promise.resolve(0n),
    },
    ...{ costPercentMax: 5, floor, honouredMs: 300_000 },
    clock: { monotonicMs: () => nowMs },
  });
  await one.look();
  expect([one.asked, one.honoured]).toEqual([50_000n, 50_000n]);
  cost = 23_021n;
  await one.look();
  expect([one.asked, one.honoured]).toEqual([470_000n, 50_000n]);
  nowMs = 300_001;
  expect(one.honoured).toBe(470_000n);
});
