import { expect, test } from '@jest/globals';
import { gasGriefing } from './gas-griefing.js';

test('every honest payment settles beside wallets that pass simulations and burn gas', async () => {
  const { honest, row, gasBurned } = await gasGriefing({
    ...{ seconds: 8, calmSeconds: 2, blockTimeMs: 1000, wallets: 'fresh' },
  });
  expect(honest).toEqual({ sent: 24, paid: 24 });
  // The attack is one: some of it does get through, for what its simulation justifies.
  expect(row.gotThrough).toBeGreaterThan(0);
  expect(gasBurned).toBeLessThan(BigInt(row.gotThrough) * 200_000n);
});
