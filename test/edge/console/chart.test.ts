import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { percentilesOf } from '../../../gateway/customers/usage/percentiles.js';
import { usdcUnits } from '../../../gateway/ground/domain/units.js';
import { percent, signedUsd, usd } from '../../../gateway/edge/console/ui/amount.js';
import { roundSteps } from '../../../gateway/edge/console/ui/axis.js';
import { barChart } from '../../../gateway/edge/console/ui/chart.js';

describe('the axis of a chart', () => {
  test('has round steps', () => {
    expect(roundSteps(3)).toEqual([0, 1, 2, 3]);
    expect(roundSteps(97)).toEqual([0, 50, 100]);
    expect(roundSteps(0.0007)).toEqual([0, 0.0002, 0.0004, 0.0006, 0.0008]);
    expect(roundSteps(0)).toEqual([0, 1]);
  });

  test('starts at zero, covers every bar, and has at most five marks', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (top) => {
        const steps = roundSteps(top);
        expect(steps[0]).toBe(0);
        expect(steps.length).toBeLessThanOrEqual(6);
        expect(steps.at(-1)).toBeGreaterThanOrEqual(top * (1 - 1e-9));
      }),
    );
  });
});

test('a chart says every figure in words, and escapes names', () => {
  const { text } = barChart({
    title: 'Searches by day, UTC',
    spans: ['2026-11-21', '2026-11-22'],
    series: [
      { name: 'answered', values: [1200, 3] },
      { name: '<refused>', values: [4, 0] },
    ],
    before: [900, 1],
    isLastOpen: true,
  });
  expect(text).toContain('2026-11-21: 1,200 answered, 4 &lt;refused&gt;; 900 in the period before');
  expect(text).toContain('2026-11-22 so far: 3 answered');
  expect(text).not.toContain('<refused>');
  expect(text).not.toContain('style=');
});

test('an amount is never rounded to zero', () => {
  expect(usd(usdcUnits(50n))).toBe('$0.00005');
  expect(usd(usdcUnits(4_100_000n))).toBe('$4.10');
  expect(usd(usdcUnits(1_234_000_000n))).toBe('$1,234.00');
  expect(signedUsd(-1_100_000n)).toBe('−$1.10');
});

test('a share is neither rounded to none nor to all', () => {
  expect([percent(1, 1000), percent(999, 1000), percent(0, 5), percent(5, 5)]).toEqual([
    '< 1 %',
    '99 %',
    '0 %',
    '100 %',
  ]);
});

test('percentiles are the bounds of the classes in which they lie', () => {
  const classes = [
    { boundMs: 10, searches: 90 },
    { boundMs: 50, searches: 8 },
    { boundMs: 250, searches: 2 },
  ];
  expect(percentilesOf(classes)).toEqual({ p50: 10, p95: 50, p99: 250 });
  expect(percentilesOf([])).toBeUndefined();
});
