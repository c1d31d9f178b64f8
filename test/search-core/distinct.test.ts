import { describe, expect, test } from '@jest/globals';
import type { SearchResultItem } from '../../search-core/contract.js';
import { distinctResults } from '../../search-core/query/distinct.js';

const item = (n: number, title: string, description: string): SearchResultItem => ({
  url: `https://example.test/${n}`,
  title,
  description,
});
const shared = 'A rose needs water in June.\nIt is cut in winter, when it sleeps.';
const numbers = (items: Iterable<SearchResultItem>, wanted: number): string[] =>
  distinctResults(items, wanted).map(({ url }) => url.slice(-1));

describe('the results of a search', () => {
  test('show one version of a page, and the next page in place of the others', () => {
    const items = [
      item(1, 'Roses 2.0', `${shared}\nIn this version thorns are new.`),
      item(2, 'Roses 1.9', `${shared}\nIn this version leaves are new.`),
      item(3, 'Gardens', 'A garden is a place for plants and people.'),
    ];
    expect(numbers(items, 2)).toEqual(['1', '3']);
  });

  test('show what repeats an earlier result behind all others, where nothing else is left', () => {
    const items = [
      item(1, 'Roses', shared),
      item(2, 'Another title', shared),
      item(3, 'Gardens', 'A garden is a place for plants and people.'),
    ];
    expect(numbers(items, 3)).toEqual(['1', '3', '2']);
  });

  test('keep pages of one title that say different things', () => {
    const items = [
      item(1, 'Syntax', 'A loop repeats its body while a condition holds.'),
      item(2, 'Syntax', 'A class has fields and methods of its own.'),
    ];
    expect(numbers(items, 2)).toEqual(['1', '2']);
  });

  test('are made no further than they are shown', () => {
    let made = 0;
    function* items(): Generator<SearchResultItem> {
      for (let n = 1; n < 9; n++) {
        made++;
        yield item(n, `Title ${'x'.repeat(n)}`, `Some text of page ${n} alone.`);
      }
    }
    expect(numbers(items(), 3)).toEqual(['1', '2', '3']);
    expect(made).toBe(3);
  });
});
