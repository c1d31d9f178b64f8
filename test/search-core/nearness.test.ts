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
  const whole = nearness([at(200), at(201), at(202), at(203)], idfs, 5);
  const half = nearness([at(200), at(201), at(300), at(301)], idfs, 5);
  const apart = nearness([at(200), at(210), at(220), at(230)], idfs, 5);
  // Pairs: three of 2 · 1 / 1.5 in the first page, two in the second; then 8 · 1 and 4 · (1/2)^4.
  expect(whole).toBeCloseTo(4 + 8, 9);
  expect(half).toBeCloseTo(8 / 3 + 4 / 16, 9);
  expect(apart).toBe(0);
});

test('a title that is the query counts most, one that has it among other words less', () => {
  const idfs = [2, 2];
  const inTitle = [at(3, 200), at(4, 201)];
  const [exact, among] = [nearness(inTitle, idfs, 2), nearness(inTitle, idfs, 8)];
  const inBody = nearness([at(3, 200), at(90, 201)], idfs, 2);
  expect(exact - among).toBeCloseTo(4 - 4 / 4, 9);
  expect(among).toBeGreaterThan(inBody);
  // Words of the address are no title.
  expect(nearness([at(100), at(101)], idfs, 2)).toBeLessThan(exact - 3);
});

test('no page scores above the bound', () => {
  const idfs = [5, 1, 3];
  const everywhere = at(...Array.from({ length: 50 }, (_, i) => 200 + i));
  expect(nearness([everywhere, everywhere, everywhere], idfs, 3)).toBeLessThanOrEqual(
    nearnessMax(idfs),
  );
});
