import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import type { Migration } from '../../../gateway/ground/store/migrations.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { realClock, realRandom } from '../../support/ports.js';

interface Tables {
  marble: { name: string; weight: bigint; skin: Uint8Array | null };
}

const migrations: Migration[] = [
  {
    name: 'test-001-marble',
    statements: ({ int, bytes, strict }) => [
      `create table marble (name text not null primary key, weight ${int} not null, skin ${bytes}) ${strict}`,
    ],
  },
];

const opened: (() => Promise<void>)[] = [];
async function open(
  location?: string,
  limits?: { queuedWritesMax: number; batchWritesMax: number },
) {
  const directory = mkdtempSync(join(tmpdir(), 'store-'));
  const failures: unknown[] = [];
  const store = await openStore(
    { location: location ?? join(directory, 'test.db'), migrations, ...(limits && { limits }) },
    { clock: realClock, random: realRandom, onFailed: (error) => failures.push(error) },
  );
  opened.push(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  return { store, failures };
}
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

const insert = (store: Store, name: string, weight = 1n) =>
  store.write((tx: Kysely<Tables>) =>
    tx.insertInto('marble').values({ name, weight, skin: null }).execute(),
  );
const names = (store: Store) =>
  store.read(async (db: Kysely<Tables>) => {
    const rows = await db.selectFrom('marble').select('name').orderBy('name').execute();
    return rows.map((row) => row.name);
  });

describe.each(['file', ':memory:'])('a SQLite store (%s)', (kind) => {
  const location = kind === 'file' ? undefined : kind;

  test('writes that wait together share one commit', async () => {
    const { store } = await open(location);
    const before = store.health().commits;
    await Promise.all(Array.from({ length: 100 }, (_, index) => insert(store, `m${index}`)));
    expect(store.health().commits - before).toBe(1);
    expect(await names(store)).toHaveLength(100);
  });

  test('a write that throws is undone alone', async () => {
    const { store } = await open(location);
    const results = await Promise.allSettled([
      insert(store, 'a'),
      store.write(async (tx: Kysely<Tables>) => {
        await tx.insertInto('marble').values({ name: 'b', weight: 1n, skin: null }).execute();
        throw new Error('changed my mind');
      }),
      insert(store, 'a'),
      insert(store, 'c'),
    ]);
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({ reason: { message: 'changed my mind' } });
    expect(await names(store)).toEqual(['a', 'c']);
  });

  test('beyond its bound the queue refuses at once', async () => {
    const { store } = await open(location, { queuedWritesMax: 3, batchWritesMax: 2 });
    const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((n) => insert(store, n)));
    expect(results[3]).toMatchObject({ reason: { name: 'StoreUnavailable', reason: 'busy' } });
    expect(await names(store)).toEqual(['a', 'b', 'c']);
  });

  test('no read sees a write before its commit', async () => {
    const { store } = await open(location);
    let seen: string[] | undefined;
    const write = store.write(async (tx: Kysely<Tables>) => {
      await tx.insertInto('marble').values({ name: 'a', weight: 1n, skin: null }).execute();
      void names(store).then((found) => (seen ??= found));
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      if (kind === 'file') expect(seen).toEqual([]);
      else expect(seen).toBeUndefined();
    });
    await write;
    expect(await names(store)).toEqual(['a']);
  });

  test('integers come back as bigint, blobs as bytes, and types are kept', async () => {
    const { store } = await open(location);
    const weight = 2n ** 60n + 1n;
    await store.write((tx: Kysely<Tables>) =>
      tx
        .insertInto('marble')
        .values({ name: 'a', weight, skin: Uint8Array.of(7, 0) })
        .execute(),
    );
    const [row] = await store.read((db: Kysely<Tables>) =>
      db.selectFrom('marble').selectAll().execute(),
    );
    expect(row).toEqual({ name: 'a', weight, skin: Uint8Array.of(7, 0) });
  });
});
