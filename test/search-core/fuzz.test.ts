import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { EmbeddedEngine } from '../../search-core/engines/embedded.js';
import { check } from '../../search-core/index/check.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

removeTemporaries();

/** Text as the web has it: any characters, quotes, symbols, long runs, broken surrogates. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constantFrom(
        'word',
        '"',
        '“a b”',
        'c++',
        '.net',
        '\ud800',
        '\u0000',
        'x'.repeat(300),
        '\n\n',
      ),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(' '));
const url = fc.nat(20).map((n) => `https://example.test/${n}`);
const put = fc.record({ put: fc.record({ url, title: text, text }) });
const step = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 2, arbitrary: fc.record({ delete: url }) },
  { weight: 2, arbitrary: fc.constant('commit' as const) },
  { weight: 4, arbitrary: fc.record({ query: text }) },
);

test('any stream of pages, deletes, commits and queries is taken, and the index stays whole', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
      const directory = openDirectory(temporary());
      const engine = new EmbeddedEngine(directory, () => performance.now());
      const live = new Set<string>();
      for (const one of steps) {
        if (one === 'commit') {
          await engine.commit();
          expect((await engine.stats()).pages).toBe(live.size);
        } else if ('query' in one) {
          const request = { query: one.query, maxResults: 20, maxDescriptionLength: 1000 };
          const { results } = await engine.search(request, { deadlineMs: 5_000, postingsMax: 1e6 });
          for (const { description } of results) {
            expect(description.length).toBeLessThanOrEqual(1000);
          }
        } else {
          await engine.apply([one]);
          if ('put' in one) live.add(one.put.url);
          else live.delete(one.delete);
        }
      }
      await engine.commit();
      await engine.close();
      expect(check(directory)).toMatchObject({ ok: true, pages: live.size });
    }),
    { numRuns: 15 },
  );
});

test('memory and files do not grow with searches and replaced pages', async () => {
  const path = temporary();
  const engine = new EmbeddedEngine(openDirectory(path), () => performance.now());
  const round = async (n: number): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      const put = {
        url: `https://example.test/${i}`,
        title: `Page ${i}`,
        text: `round ${n} `.repeat(50),
      };
      await engine.apply([{ put }]);
    }
    await engine.commit();
    for (let i = 0; i < 50; i++) {
      const request = {
        query: `"round ${n}" page ${i}`,
        maxResults: 10,
        maxDescriptionLength: 1000,
      };
      await engine.search(request, { deadlineMs: 5_000, postingsMax: 1e6 });
    }
  };
  for (let n = 0; n < 5; n++) await round(n);
  const files = openDirectory(path).list().length;
  const { heapUsed, external } = process.memoryUsage();
  for (let n = 5; n < 25; n++) await round(n);
  const after = process.memoryUsage();
  expect(openDirectory(path).list().length).toBeLessThanOrEqual(files + 10 * 8);
  expect(after.heapUsed + after.external).toBeLessThan(heapUsed + external + 64_000_000);
  await engine.close();
});
