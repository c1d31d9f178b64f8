/** The version before, started again on what a newer one has written. */
import type { Kysely } from 'kysely';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Migration } from '../../../gateway/ground/store/migrations.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { temporaryStore } from '../../support/stores.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';

removeTemporaries();

interface Tables {
  notes: { id: string; text: string; colour?: string | null };
}

const NOTES: Migration = {
  name: 'notes-001',
  statements: ({ strict }) => [
    `create table notes (id text not null primary key, text text not null) ${strict}`,
  ],
};
const COLOURS: Migration = {
  name: 'notes-002-colours',
  isTolerated: true,
  statements: () => ['alter table notes add column colour text'],
};
const NO_TEXT: Migration = {
  name: 'notes-003-no-text',
  statements: () => ['alter table notes drop column text'],
};

const write = (store: Store, row: Tables['notes']) =>
  store.write(async (tx: Kysely<Tables>) => {
    await tx.insertInto('notes').values(row).execute();
  });
const all = (store: Store) =>
  store.read((db: Kysely<Tables>) => db.selectFrom('notes').selectAll().orderBy('id').execute());

test('a version works on what its successor tolerates, and nothing is lost when that comes back', async () => {
  const file = join(temporary(), 'test.db');
  const old = await temporaryStore([NOTES], file);
  await write(old.store, { id: '1', text: 'by the old one' });
  await old.discard();

  const upgraded = await temporaryStore([NOTES, COLOURS], file);
  await write(upgraded.store, { id: '2', text: 'by the new one', colour: 'red' });
  await upgraded.discard();

  const rolledBack = await temporaryStore([NOTES], file);
  await write(rolledBack.store, { id: '3', text: 'by the old one again' });
  await rolledBack.discard();

  const again = await temporaryStore([NOTES, COLOURS], file);
  expect(await all(again.store)).toEqual([
    { id: '1', text: 'by the old one', colour: null },
    { id: '2', text: 'by the new one', colour: 'red' },
    { id: '3', text: 'by the old one again', colour: null },
  ]);
  await again.discard();
});

test('a version refuses what its successor does not tolerate, by name, and says the way back', async () => {
  const file = join(temporary(), 'test.db');
  const newer = await temporaryStore([NOTES, COLOURS, NO_TEXT], file);
  await newer.discard();
  const refused = await temporaryStore([NOTES], file).catch(String);
  expect(refused).toMatch(/newer version \(it has notes-003-no-text\).*npm run restore/);
});
