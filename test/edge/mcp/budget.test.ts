import fc from 'fast-check';
import { expect, test } from '@jest/globals';
import { toolArguments } from '../../../gateway/edge/mcp/arguments.js';
import { spendOnBest } from '../../../gateway/edge/mcp/budget.js';
import { answerResult } from '../../../gateway/edge/mcp/result.js';
import type { SearchResponse, SearchResultItem } from '../../../search-core/contract.js';

const responseOf = (lengths: readonly number[]): SearchResponse => ({
  requestId: 'r',
  result: {
    results: lengths.map((length, index) => ({
      title: `Page ${index}`,
      url: `https://pages.example/${index}`,
      description: 'word '.repeat(length).slice(0, length),
    })),
    searchMetadata: { executionTime: 0.001 },
    totalResults: lengths.length,
  },
});
const sizeOf = (results: readonly SearchResultItem[]) =>
  results.reduce(
    (sum, { title, url, description }) => sum + title.length + url.length + description.length,
    0,
  );

test('a budget goes to the best pages, whole, and the first that does not fit is cut', () => {
  const response = responseOf([300, 400, 2000, 100]);
  const { response: fitted, leftOut } = spendOnBest(response, 1500);
  const { results, totalResults } = fitted.result;
  expect(results.slice(0, 2)).toEqual(response.result.results.slice(0, 2));
  expect(results[2]?.description).toMatch(/^word .*…$/);
  expect([results.length, totalResults, leftOut]).toEqual([3, 3, 1]);
  expect(sizeOf(results)).toBeLessThanOrEqual(1500);
  expect(sizeOf(results)).toBeGreaterThan(1400);
});

test('no result has more characters than its budget, and none fits that was left out whole before it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 8000 }), { maxLength: 20 }),
      fc.integer({ min: 500, max: 32_000 }),
      (lengths, budget) => {
        const response = responseOf(lengths);
        const { results } = spendOnBest(response, budget).response.result;
        const whole = response.result.results;
        expect(sizeOf(results)).toBeLessThanOrEqual(budget);
        expect(results.slice(0, -1)).toEqual(whole.slice(0, Math.max(0, results.length - 1)));
        if (sizeOf(whole) <= budget) expect(results).toEqual(whole);
      },
    ),
  );
});

test('the text says what was left out, and an answer without a page is not called empty', () => {
  const [text] = answerResult(responseOf([400, 400]), 500).content;
  expect(text).toMatchObject({
    text: expect.stringContaining('1 more page was found and left out'),
  });
});

test('the argument is the tool’s own: the search never sees it', () => {
  expect(toolArguments({ query: 'a', maxCharacters: 500 })).toEqual({
    search: { query: 'a' },
    maxCharacters: 500,
  });
  expect(toolArguments({ query: 'a' })).toEqual({ search: { query: 'a' } });
  for (const maxCharacters of [499, 32_001, 1.5, '500', null, Number.NaN]) {
    expect(toolArguments({ query: 'a', maxCharacters })).toMatchObject({
      code: 'invalid_parameter',
      detail: 'The parameter "maxCharacters" must be an integer from 500 to 32000.',
    });
  }
});
