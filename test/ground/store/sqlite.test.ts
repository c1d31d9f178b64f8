import { afterAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import Database from 'libsql';
import { openStore } from '../../../gateway/ground/store/open.js';
import { type Store, StoreUnusable } from '../../../gateway/ground/store/store.js';
import { realClock, realRandom } from '../../support/ports.js';

const folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Tables {
  t: { x: bigint };
}

const migrations = [{ name: 'a', statements: () => ['create table t (x integer not null)'] }];
const ports = { clock: realClock, random: realRandom, onFailed: () => undefined };
const open = (location: string) => openStore({ location, migrations, exclusive: true }, ports);
const rows = (store: Store) =>
  store.read((db: Kysely<Tables>) => db.selectFrom('t').selectAll().execute());

/** A closed file with one row in it, and nothing in its log that would make damage good again. */
async function written(name: string): Promise<string> {
  const file = join(folder, name);
  const store = await open(file);
  await store.write((tx: Kysely<Tables>) => tx.insertInto('t').values({ x: 7n }).execute());
  await store.close();
  const database = new Database(file);
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  return file;
}

describe('a SQLite file', () => {
  test('is not opened by a second gateway while the first one lives, and is after that', async () => {
    const file = await written('two.db');
    const first = await open(file);
    const second = open(file);
    await expect(second).rejects.toThrow(StoreUnusable);
    await expect(second).rejects.toThrow(`another gateway runs on ${file}: stop it first`);
    expect(await rows(first)).toEqual([{ x: 7n }]);
    await first.close();
    const next = await open(file);
    expect(await rows(next)).toEqual([{ x: 7n }]);
    await next.close();
  });

  test.each([
    ['is something else', (file: string) => writeFileSync(file, 'no database '.repeat(1000))],
    [
      'has a first page of noise',
      (file: string) => {
        const bytes = readFileSync(file);
        writeFileSync(file, bytes.fill(0xa5, 16, 4096));
      },
    ],
  ])('that %s is named, with what to do, and left as it is', async (what, damage) => {
    const file = await written(`${what}.db`);
    damage(file);
    const before = readFileSync(file);
    const opened = open(file);
    await expect(opened).rejects.toThrow(StoreUnusable);
    await expect(opened).rejects.toThrow(/damaged, or no SQLite database: put the last backup/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});
