import { afterEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { EmbeddedEngine } from '../../search-core/engines/embedded.js';
import { MemoryEngine } from '../../search-core/engines/memory.js';
import { parseOpenSearch } from '../../search-core/engines/opensearch/api.js';
import { OpenSearchEngine } from '../../search-core/engines/opensearch/engine.js';
import type { Engine, SearchOutcome } from '../../search-core/engine.js';
import { ThreadedEngine } from '../../search-core/engines/threaded.js';
import type { Page } from '../../search-core/page.js';
import { startFakeOpenSearch } from '../support/fake-opensearch.js';

const LIMITS = { deadlineMs: 10_000, postingsMax: 1e9 };
const cleanUps: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

function temporary(): string {
  const path = mkdtempSync(join(tmpdir(), 'search-core-'));
  cleanUps.push(() => rmSync(path, { recursive: true }));
  return path;
}

const ENGINES: Record<string, () => Promise<Engine> | Engine> = {
  memory: () => new MemoryEngine(),
  embedded: () => new EmbeddedEngine(openDirectory(temporary()), () => performance.now()),
  threaded: () =>
    ThreadedEngine.open({
      indexDir: join(temporary(), 'index'),
      threads: 2,
      onError: (error) => {
        throw error;
      },
    }),
  OpenSearch: async () => new OpenSearchEngine(parseOpenSearch(`${await server()}/${newIndex()}`)),
};

/** A server that is named, for the real thing; else a stand-in. */
async function server(): Promise<string> {
  const named = process.env.TEST_OPENSEARCH;
  if (named !== undefined) return named;
  const fake = await startFakeOpenSearch();
  cleanUps.push(() => fake.stop());
  return fake.url;
}

const newIndex = (): string => `contract-${randomUUID()}`;

const page = (n: number, title: string, text: string): Page => ({
  url: `https://example.test/${n}`,
  title,
  text,
});

describe.each(Object.keys(ENGINES))('the %s engine', (name) => {
  async function open(): Promise<Engine> {
    const engine = await ENGINES[name]?.();
    if (!engine) throw new Error('no such engine');
    cleanUps.push(() => engine.close());
    return engine;
  }

  const search = (engine: Engine, query: string, maxResults = 10): Promise<SearchOutcome> =>
    engine.search({ query, maxResults, maxDescriptionLength: 1000 }, LIMITS);

  const urls = async (engine: Engine, query: string): Promise<string[]> =>
    (await search(engine, query)).results.map(({ url }) => url.slice(-1));

  test('shows changes after a commit and not before', async () => {
    const engine = await open();
    expect(await engine.stats()).toEqual({ pages: 0, generation: 0 });
    await engine.apply([{ put: page(1, 'Roses', 'Roses are red.') }]);
    expect(await urls(engine, 'roses')).toEqual([]);
    await engine.commit();
    expect(await urls(engine, 'roses')).toEqual(['1']);
    expect(await engine.stats()).toMatchObject({ pages: 1, generation: 1 });
  });

  test('replaces the page that has the URL, and deletes', async () => {
    const engine = await open();
    await engine.apply([
      { put: page(1, 'Roses', 'red') },
      { put: page(2, 'Tulips', 'red') },
      { put: page(3, 'Lilies', 'red') },
    ]);
    await engine.commit();
    await engine.apply([{ put: page(1, 'Roses', 'blue') }, { delete: 'https://example.test/2' }]);
    expect(await urls(engine, 'red')).toEqual(['1', '2', '3']);
    await engine.commit();
    expect(await urls(engine, 'red')).toEqual(['3']);
    expect(await urls(engine, 'blue')).toEqual(['1']);
    expect((await engine.stats()).pages).toBe(2);
  });

  test('the last of several changes to one URL counts, also within one commit', async () => {
    const engine = await open();
    await engine.apply([{ put: page(1, 'A', 'one') }, { put: page(1, 'A', 'two') }]);
    await engine.apply([{ put: page(2, 'B', 'one') }, { delete: 'https://example.test/2' }]);
    await engine.commit();
    expect(await urls(engine, 'one')).toEqual([]);
    expect(await urls(engine, 'two')).toEqual(['1']);
  });

  test('a page that was put twice in one commit is replaced by the next one', async () => {
    const engine = await open();
    const others = Array.from({ length: 10 }, (_, n) => ({ put: page(100 + n, 'B', 'zero') }));
    await engine.apply([...others, { put: page(1, 'A', 'one') }, { put: page(1, 'A', 'two') }]);
    await engine.commit();
    await engine.apply([{ put: page(1, 'A', 'three') }]);
    await engine.commit();
    expect(await urls(engine, 'one two three')).toEqual(['1']);
    expect((await engine.stats()).pages).toBe(11);
  });

  test('words match exactly, without case and diacritics, in title and text', async () => {
    const engine = await open();
    await engine.apply([
      { put: page(1, 'Café culture', 'Drinks.') },
      { put: page(2, 'Drinks', 'Meet at the CAFE.') },
      { put: page(3, 'Cafeteria', 'Cafes.') },
      { put: page(4, 'C++ and C#', 'Languages.') },
      { put: page(5, 'The letter C', 'Also about ASP.NET.') },
    ]);
    await engine.commit();
    expect(await urls(engine, 'cafe')).toEqual(['1', '2']);
    expect(await urls(engine, 'C++')).toEqual(['4']);
    expect(await urls(engine, 'c#')).toEqual(['4']);
    expect((await urls(engine, 'c')).sort()).toEqual(['4', '5']);
    expect(await urls(engine, '.NET')).toEqual(['5']);
  });

  test('word order changes the order of results', async () => {
    const engine = await open();
    await engine.apply([
      { put: page(1, 'One', 'The dog bites the man at noon.') },
      { put: page(2, 'Two', 'The man bites the dog at noon.') },
    ]);
    await engine.commit();
    expect(await urls(engine, 'dog bites man')).toEqual(['1', '2']);
    expect(await urls(engine, 'man bites dog')).toEqual(['2', '1']);
  });

  test('a phrase that enough pages hold must be there, also one of very common words', async () => {
    const engine = await open();
    const filler = Array.from({ length: 50 }, (_, n) => page(100 + n, 'x', 'be or not to the'));
    const play = 'To be, or not to be: that is the question.';
    await engine.apply(filler.map((put) => ({ put })));
    await engine.apply([7, 8, 9].map((n) => ({ put: page(n, `Play ${n}`, `${play} Act ${n}.`) })));
    await engine.commit();
    const { results, metrics } = await search(engine, '"to be or not to be"');
    expect(results.map(({ url }) => url.slice(-1)).sort()).toEqual(['7', '8', '9']);
    expect(metrics.phrases).toBe('required');
    expect((await urls(engine, '"to be" "the question"')).sort()).toEqual(['7', '8', '9']);
    expect((await search(engine, 'to be')).metrics.phrases).toBe('none');
  });

  test('a phrase that too few pages hold comes first, and other pages follow', async () => {
    const engine = await open();
    const filler = Array.from({ length: 50 }, (_, n) => page(100 + n, 'x', 'be or not to the'));
    await engine.apply(filler.map((put) => ({ put })));
    await engine.apply([{ put: page(7, 'Play', 'To be, or not to be: that is the question.') }]);
    await engine.commit();
    for (const query of ['"to be or not to be"', '"to be" "the question"', 'x "is the question"']) {
      const { results, metrics } = await search(engine, query);
      expect(results[0]?.title).toBe('Play');
      expect(results).toHaveLength(10);
      expect(new Set(results.map(({ url }) => url)).size).toBe(10);
      expect(metrics.phrases).toBe('preferred');
    }
    const reversed = await search(engine, '"question the"');
    expect(reversed.results).toHaveLength(10);
    expect(reversed.metrics.phrases).toBe('preferred');
    expect((await search(engine, '"absent words"')).results).toEqual([]);
  });

  test('names and numbers of the address find a page, leading zeros or not', async () => {
    const engine = await open();
    const put = (url: string, title: string) => ({
      put: { url, title, text: 'This proposal adds a function to the language.' },
    });
    await engine.apply([
      put('https://peps.example/pep-0279/2', 'The enumerate function'),
      put('https://peps.example/pep-0280/3', 'Optimizing access'),
      put('https://peps.example/notes/4.html', 'A title that ends in pep'),
    ]);
    await engine.commit();
    expect((await urls(engine, 'PEP 279 function'))[0]).toBe('2');
    expect((await urls(engine, 'pep 0279'))[0]).toBe('2');
    expect((await urls(engine, '"pep 280"'))[0]).toBe('3');
    // One in a title, the other in an address: neighbours in neither.
    expect((await search(engine, '"pep notes"')).metrics.phrases).toBe('preferred');
    expect((await search(engine, 'html')).results).toEqual([]);
  });

  test('no word is dropped: the commonest alone, and each of fifty, finds its pages', async () => {
    const engine = await open();
    const words = Array.from({ length: 49 }, (_, n) => `word${n}`);
    await engine.apply([
      ...words.map((word, n) => ({ put: page(100 + n, 'x', `the ${word}`) })),
      { put: page(1, 'x', 'the last') },
    ]);
    await engine.commit();
    expect((await search(engine, 'the', 20)).results).toHaveLength(20);
    const absent = words.map((_, n) => `absent${n}`).join(' ');
    expect(await urls(engine, `${absent} last`)).toEqual(['1']);
    expect(await urls(engine, `last ${absent}`)).toEqual(['1']);
    expect((await search(engine, `${words.join(' ')} last`, 20)).results).toHaveLength(20);
  });

  test('versions of one page come behind pages that say something else', async () => {
    const engine = await open();
    const manual = (n: number) =>
      page(
        n,
        `Manual ${n}`,
        `How to water roses. Each rose needs four litres of water a day. v${n}`,
      );
    await engine.apply([1, 2, 3].map((n) => ({ put: manual(n) })));
    await engine.apply([
      { put: page(4, 'Roses', 'Some say that roses like a quiet garden best.') },
    ]);
    await engine.apply([{ put: page(5, 'Manual 5', 'Roses are cut in winter, and not before.') }]);
    await engine.commit();
    const found = (await search(engine, 'water roses', 3)).results.map(({ url }) => url.slice(-1));
    expect(found).toHaveLength(3);
    expect(new Set(found)).toEqual(new Set([found[0], '4', '5']));
    expect(await urls(engine, 'water roses')).toHaveLength(5);
  });

  test('equal pages keep the order in which they came, and a search its results', async () => {
    const engine = await open();
    await engine.apply([5, 3, 4].map((n) => ({ put: page(n, 'Same', 'same words') })));
    await engine.commit();
    expect(await urls(engine, 'same words')).toEqual(['5', '3', '4']);
    expect(await search(engine, 'same words')).toEqual(await search(engine, 'same words'));
  });

  test('gives at most maxResults, and nothing for a query without words', async () => {
    const engine = await open();
    await engine.apply([1, 2, 3].map((n) => ({ put: page(n, 'Same', 'same') })));
    await engine.commit();
    expect((await search(engine, 'same', 2)).results).toHaveLength(2);
    expect((await search(engine, '!?')).results).toEqual([]);
    expect((await search(engine, 'absent')).results).toEqual([]);
  });
});
