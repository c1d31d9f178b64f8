import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import { statement } from '../../../gateway/ground/store/statement.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { temporaryStore } from '../../support/stores.js';

interface Tables {
  things: { name: string; size: bigint; note: string | null };
}

const MIGRATION = {
  name: 'things-001',
  statements: ({ int }: { int: string }) => [
    `create table things (name text not null primary key, size ${int} not null, note text)`,
  ],
};

const insert = statement<Tables, Tables['things'], unknown>((db, { name, size, note }) =>
  db.insertInto('things').values({ name, size, note }),
);

const grown = statement<Tables, { name: string; by: bigint }, Tables['things']>(
  (db, { by, name }) =>
    db
      .updateTable('things')
      .set((row) => ({ size: row('size', '+', by), note: 'grown' }))
      .where('name', '=', name)
      .returningAll(),
);

describe.each(ENGINES)('on %s', (engine) => {
  const place = engineOf(engine);
  let opened: Awaited<ReturnType<typeof temporaryStore>>;

  beforeAll(async () => {
    await place.start();
    opened = await temporaryStore([MIGRATION], place.location());
  }, 60_000);
  afterAll(async () => {
    await opened.discard();
    await place.stop();
  });

  test('a statement takes other values each time, and keeps its constants', async () => {
    const { store } = opened;
    const size = 2n ** 60n;
    await store.write((tx: Kysely<Tables>) => insert(tx, { name: 'one', size, note: null }));
    await store.write((tx: Kysely<Tables>) => insert(tx, { name: 'two', size: 2n, note: 'new' }));
    const rows = await store.write(async (tx: Kysely<Tables>) => [
      ...(await grown(tx, { name: 'two', by: 40n })),
      ...(await grown(tx, { name: 'none', by: 1n })),
      ...(await grown(tx, { by: 1n, name: 'one' })),
    ]);
    expect(rows).toEqual([
      { name: 'two', size: 42n, note: 'grown' },
      { name: 'one', size: size + 1n, note: 'grown' },
    ]);
  });
});
