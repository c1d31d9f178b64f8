import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { MemoryEngine } from '../../search-core/engines/memory.js';
import { check } from '../../search-core/index/check.js';
import { Snapshot } from '../../search-core/index/snapshot.js';
import { IndexWriter } from '../../search-core/index/writer.js';
import type { Page } from '../../search-core/page.js';
import { Budget } from '../../search-core/query/budget.js';
import { lookUp } from '../../search-core/query/found.js';
import { parseQuery } from '../../search-core/query/parse.js';
import { Searcher } from '../../search-core/query/searcher.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

const UNLIMITED = { deadlineMs: 1e9, postingsMax: 1e12 };
removeTemporaries();

/** A small generator of numbers in [0, 1) for corpora that a seed makes again (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Word n of a vocabulary whose frequencies fall like those of a language. */
function word(random: () => number, vocabulary: number): string {
  return `w${Math.floor(vocabulary ** random())}`;
}

function corpus(seed: number, pages: number, vocabulary: number, lengthMax: number): Page[] {
  const random = seeded(seed);
  const text = (length: number): string =>
    Array.from({ length }, () => word(random, vocabulary)).join(' ');
  return Array.from({ length: pages }, (_, i) => ({
    url: `https://example.test/${i}`,
    title: text(Math.floor(random() * 8)),
    text: text(Math.floor(lengthMax * random() ** 3)),
  }));
}

interface Built {
  readonly searcher: Searcher;
  readonly naive: MemoryEngine;
}

async function build(pages: readonly Page[], segmentPages: number): Promise<Built> {
  const directory = openDirectory(temporary());
  const writer = new IndexWriter(directory);
  const naive = new MemoryEngine();
  for (const [i, page] of pages.entries()) {
    await writer.put(page);
    await naive.apply([{ put: page }]);
    if (i % segmentPages === segmentPages - 1) await writer.commit();
  }
  await writer.commit();
  await naive.commit();
  await writer.close();
  expect(check(directory).problems).toEqual([]);
  return { searcher: new Searcher(Snapshot.open(directory), () => 0), naive };
}

function expectSame({ searcher, naive }: Built, text: string): void {
  const query = parseQuery(text);
  const budget = new Budget(() => 0, UNLIMITED);
  const terms = lookUp(searcher.snapshot, query);
  const expected = naive.rank(query);
  expect({ text, ranked: searcher.rank(query, terms, budget) }).toEqual({ text, ranked: expected });
  for (const wanted of [1, 5, 20]) {
    const first = searcher.rank(query, terms, budget, wanted).slice(0, wanted);
    expect({ text, wanted, first }).toEqual({ text, wanted, first: expected.slice(0, wanted) });
  }
}

describe('the indexed engine ranks as the naive one does: same pages, same scores, same order', () => {
  test.each([
    [1, 1_500, 5_000, 250, 500],
    [2, 500, 60, 900, 10_000],
    [3, 5_000, 20_000, 30, 10_000],
  ])('corpus %d of %d pages', async (seed, pages, vocabulary, lengthMax, segmentPages) => {
    const built = await build(corpus(seed, pages, vocabulary, lengthMax), segmentPages);
    const random = seeded(seed + 100);
    for (let n = 0; n < 40; n++) {
      const count = 1 + Math.floor(random() * (n % 10 === 0 ? 50 : 6));
      const words = Array.from({ length: count }, () => word(random, vocabulary));
      const quoted =
        n % 3 === 0 ? `"${words.slice(0, 3).join(' ')}" ${words.slice(3).join(' ')}` : '';
      expectSame(built, quoted || words.join(' '));
    }
    built.searcher.snapshot.close();
  });

  test('whatever the pages and the query are', async () => {
    const some = fc.constantFrom('a', 'b', 'c', 'C++', '.NET', 'é', 'x_y', "d'e", '3.14');
    const text = fc.array(some, { maxLength: 12 }).map((parts) => parts.join(' '));
    const page = fc.record({ url: fc.webUrl(), title: text, text });
    const query = fc.array(
      fc.oneof(
        some,
        some.map((one) => `"a ${one}"`),
      ),
      { maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(page, { selector: ({ url }) => url, maxLength: 30 }),
        fc.array(query, { maxLength: 5 }),
        async (pages, queries) => {
          const built = await build(pages, 7);
          for (const words of queries) expectSame(built, words.join(' '));
          built.searcher.snapshot.close();
        },
      ),
      { numRuns: 15 },
    );
  });
});
