import { expect, test } from '@jest/globals';
import { runKills } from './campaign.js';
import { CRASH_POINTS } from './order.js';

// One kill at each point here; many by `npm run kill -- --times 20`.
test('killed by SIGKILL at any point, a gateway has paid once for what it delivered and for nothing else', async () => {
  const kills = await runKills({ points: CRASH_POINTS, times: 1, seed: 1 });
  expect(kills.map(({ order }) => order.point)).toEqual(CRASH_POINTS);
  expect(kills.flatMap(({ audit }) => audit.violations)).toEqual([]);
  expect(kills.map(({ audit }) => audit.open)).toEqual(kills.map(() => 0));
}, 900_000);
