import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createExtractPool } from '../../../search-core/ingest/html/pool.js';
import { clusterSink } from '../../../search-core/ingest/watch/cluster-sink.js';
import { openDirectory } from '../../../search-core/disk/filesystem.js';
import { checkIndex } from '../../../search-core/index/check.js';
import { addressesOf } from '../../../search-core/index/addresses.js';
import { Snapshot } from '../../../search-core/index/snapshot.js';
import { htmlPage } from '../../support/prose.js';
import { type Site, startSite } from '../../support/site.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';
import { until } from '../../support/until.js';
import { watching } from '../../support/watching.js';

const CLI = join(process.cwd(), 'dist/search-core/cli.js');
removeTemporaries();
const pool = createExtractPool();
afterAll(() => pool.close());
let site: Site;
beforeEach(async () => {
  site = await startSite();
});
afterEach(() => site.close());

/** Pages that the books of another process call indexed, as of its last commit. */
function committedPages(file: string): number {
  if (!existsSync(file)) return 0;
  const database = new Database(file, { readonly: true });
  const query = "SELECT COUNT(*) pages FROM addresses WHERE outcome = 'indexed'";
  try {
    return (database.prepare(query).get() as { pages: number }).pages;
  } catch {
    return 0; // it is being made
  } finally {
    database.close();
  }
}

/** A site of so many pages, all of which the first one links to. */
function pagesOf(count: number): string[] {
  const names = Array.from({ length: count }, (_, at) => `/page-${at}`);
  const body = names.map((name) => `<p><a href="${name}">${name}</a></p>`).join('');
  site.page('/', htmlPage(0, { body }));
  names.forEach((name, at) => site.page(name, htmlPage(at + 1)));
  return names;
}

describe('a watch that is killed', () => {
  test('goes on behind its last commit, and ends with every page once', async () => {
    const index = join(temporary(), 'index');
    const sourcesFile = join(index, '..', 'sources.json');
    const sources = { sources: [{ kind: 'site', url: `${site.origin}/` }] };
    writeFileSync(sourcesFile, JSON.stringify({ ...sources, everyHost: { delaySeconds: 0 } }));
    const names = pagesOf(30);
    const start = (): ReturnType<typeof spawn> =>
      spawn(
        process.execPath,
        [CLI, 'watch', '--once', '--allow-private'].concat([
          '--index',
          index,
          '--sources',
          sourcesFile,
        ]),
        { stdio: 'ignore' },
      );
    const ended = (child: ReturnType<typeof spawn>): Promise<unknown> =>
      new Promise((resolve) => child.on('exit', resolve));
    const killAt = async (path: string, isTime: () => boolean): Promise<void> => {
      let isAsked = false;
      site.page(path, () => {
        isAsked = true;
      });
      const child = start();
      const end = ended(child);
      await until(() => isAsked && isTime());
      child.kill('SIGKILL');
      await end;
    };
    // Once before anything is committed, once behind a commit with which the next page waits.
    await killAt('/page-3', () => true);
    await killAt('/page-20', () => committedPages(`${index}.books.db`) > 0);
    site.page('/page-3', htmlPage(4));
    site.page('/page-20', htmlPage(21));
    const known = site.requests.length;
    expect(await ended(start())).toBe(0);
    expect((await checkIndex(index)).problems).toEqual([]);
    const snapshot = Snapshot.open(openDirectory(index));
    const held = [...addressesOf(snapshot)].map((url) => url.replace(site.origin, ''));
    snapshot.close();
    expect(held.sort()).toEqual(['/', ...names].sort());
    // What was committed before the kill was not fetched again.
    expect(site.requests.slice(known).length).toBeLessThan(names.length);
  });

  test('between the index and its books does the batch again, and loses nothing', async () => {
    const watch = watching(pool);
    pagesOf(5);
    watch.sources({
      sources: [{ kind: 'site', url: `${site.origin}/` }],
      everyHost: { delaySeconds: 0 },
    });
    const dying = { ...clusterSink(watch.sink) };
    dying.update = async (pages, gone) => {
      await watch.sink.update(pages, gone);
      throw new Error('the power is gone');
    };
    await expect(watch.once(() => dying)).rejects.toThrow('the power is gone');
    expect(watch.sink.pages()).toHaveLength(6);
    expect(await watch.once()).toMatchObject({ indexPages: 6 });
    expect(watch.sink.pages()).toHaveLength(6);
  });
});
