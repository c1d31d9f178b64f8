import { expect, test } from '@jest/globals';
import type { Directory } from '../../search-core/disk/directory.js';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { check } from '../../search-core/index/check.js';
import { buildIndex } from '../../search-core/index/build.js';
import { mergeSegments } from '../../search-core/index/merge.js';
import { Snapshot } from '../../search-core/index/snapshot.js';
import { IndexWriter } from '../../search-core/index/writer.js';
import type { Page } from '../../search-core/page.js';
import { Searcher } from '../../search-core/query/searcher.js';
import { deferred } from '../support/deferred.js';
import { prose } from '../support/prose.js';
import { removeTemporaries, temporary } from '../support/temporary.js';

const LIMITS = { deadlineMs: 10_000, postingsMax: 1e9 };
removeTemporaries();

const pageOf = (n: number, text: string): Page => ({
  url: `https://example.test/${n}`,
  title: `Page ${n}`,
  text,
});

function texts(snapshot: Snapshot, query: string): string[] {
  const request = { query, maxResults: 20, maxDescriptionLength: 1000 };
  const searcher = new Searcher(snapshot, () => 0);
  return searcher.search(request, LIMITS).results.map(({ description }) => description);
}

test('a reader keeps its snapshot while pages are replaced, deleted and merged', async () => {
  const directory = openDirectory(temporary());
  const writer = new IndexWriter(directory);
  for (let n = 0; n < 5; n++) await writer.put(pageOf(n, 'old words'));
  await writer.commit();
  const before = Snapshot.open(directory);
  for (let round = 0; round < 10; round++) {
    for (let n = 0; n < 4; n++) await writer.put(pageOf(n, `new words ${round}`));
    writer.delete('https://example.test/4');
    await writer.commit();
    await writer.merge();
  }
  await writer.compact();
  expect(texts(before, 'words')).toEqual(Array(5).fill('old words'));
  expect(texts(Snapshot.open(directory), 'words')).toEqual(Array(4).fill('new words 9'));
  before.close();
  await writer.close();
});

test('pages are put and deleted while segments are merged, and none is lost or comes back', async () => {
  const directory = openDirectory(temporary());
  const started = deferred();
  const release = deferred();
  const writer = new IndexWriter(directory, async (name, inputs) => {
    const merged = mergeSegments(directory, name, inputs);
    started.resolve();
    await release.promise;
    return merged;
  });
  for (let n = 0; n < 8; n++) {
    await writer.put(pageOf(n, 'words of the first round'));
    await writer.commit();
  }
  const merged = writer.merge();
  await started.promise;
  await writer.put(pageOf(2, 'words of the second round'));
  writer.delete('https://example.test/3');
  await writer.commit();
  // Deleted during the merge, committed after it.
  writer.delete('https://example.test/5');
  release.resolve();
  await merged;
  await writer.commit();
  const snapshot = Snapshot.open(directory);
  expect(snapshot.pages).toBe(6);
  expect(texts(snapshot, 'second')).toEqual(['words of the second round']);
  expect(texts(snapshot, 'first')).toHaveLength(5);
  expect(check(directory)).toMatchObject({ ok: true, pages: 6 });
  await writer.close();
});

test('an index is opened without reading its lists and texts', async () => {
  const path = temporary();
  const pages = async function* (): AsyncGenerator<Page> {
    for (let n = 0; n < 3_000; n++) yield await Promise.resolve(pageOf(n, prose(n)));
  };
  await buildIndex(path, pages());
  const whole = openDirectory(path);
  let read = 0;
  let size = 0;
  const counting: Directory = {
    ...whole,
    open: (name) => {
      const file = whole.open(name);
      size += file.size;
      const count = (target: Uint8Array, position: number): void => {
        read += target.length;
        file.read(target, position);
      };
      return { size: file.size, read: count, close: () => file.close() };
    },
  };
  const snapshot = Snapshot.open(counting);
  expect(read).toBeLessThan(size / 4);
  expect(texts(snapshot, 'garden')).toBeDefined();
  snapshot.close();
});
