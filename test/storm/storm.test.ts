import { expect, test } from '@jest/globals';
import { runStorm } from './campaign.js';

// The long version: `npm run storm -- --payments 5000 --faults 0.2`.
test('with every fifth exchange with the chain going wrong, 200 payments end settled or unpaid, with no gap and no double', async () => {
  const { audit, outcomes, exchanges } = await runStorm({
    payments: 200,
    faults: 0.2,
    payers: 40,
    blockTimeSeconds: 0.5,
    seed: 1,
  });
  expect(audit).toMatchObject({ violations: [], open: 0 });
  expect(audit.settled).toBeGreaterThan(150);
  expect(Object.keys(outcomes).some((outcome) => outcome.startsWith('overtaken'))).toBe(true);
  expect(exchanges.spoiled).toBeGreaterThan(0.1 * exchanges.total);
}, 900_000);
