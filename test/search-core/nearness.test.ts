import { expect, test } from '@jest/globals';
import { nearness, nearnessMax, type Positions } from '../../search-core/rank/nearness.js';
import { MemoryEngine } from '../../search-core/engines/memory.js';

const at = (...values: number[]): Positions => ({
  values: Int32Array.from(values),
  count: values.length,
});

test('a page with the whole query word for word comes before one with all its pairs, often', async () => {
  const engine = new MemoryEngine();
  const pairs = 'alpha beta here. beta gamma there. gamma delta now. '.repeat(2);
  await engine.apply([
    { put: { url: 'https://x.example/pairs', title: 'Pairs', text: pairs } },
    {
      put: {
        url: 'https://x.example/whole',
        title: 'Whole',
        text: `${'some other words stand here. '.repeat(2)} alpha beta gamma delta now.`,
      },
    },
  ]);
  await engine.commit();
  const request = { query: 'alpha beta gamma delta', maxResults: 2, maxDescriptionLength: 1000 };
  const { results } = await engine.search(request);
  expect(results.map(({ title }) => title)).toEqual(['Whole', 'Pairs']);
});

test('a stretch counts with its share of the query, and one word is none', () => {
  const idfs = [2, 2, 2, 2];
  const whole = nearness([at(200), at(201), at(202), at(203)], idfs);
  const half = nearness([at(200), at(201), at(300), at(301)], idfs);
  const apart = nearness([at(200), at(210), at(220), at(230)], idfs);
  // Pairs: three of 2 · 1 / 1.5 in the first page, two in the second; then 8 · 1 and 4 · (1/2)^4.
  expect(whole).toBeCloseTo(4 + 8, 9);
  expect(half).toBeCloseTo(8 / 3 + 4 / 16, 9);
  expect(apart).toBe(0);
});

test('no page scores above the bound', () => {
  const idfs = [5, 1, 3];
  const everywhere = at(...Array.from({ length: 50 }, (_, i) => 200 + i));
  expect(nearness([everywhere, everywhere, everywhere], idfs)).toBeLessThanOrEqual(
    nearnessMax(idfs),
  );
});
