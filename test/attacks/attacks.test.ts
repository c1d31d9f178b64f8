import { expect, test } from '@jest/globals';
import { ATTACKS } from './attacks.js';

test.each(ATTACKS.filter(({ isQuick }) => isQuick).map((attack) => [attack.name, attack] as const))(
  'nothing of the attack "%s" gets through',
  async (_name, attack) => {
    const rows = await attack.run();
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row).toMatchObject({ gotThrough: 0 });
    expect(rows.filter(({ tries }) => tries === 0)).toEqual([]);
  },
  900_000,
);
