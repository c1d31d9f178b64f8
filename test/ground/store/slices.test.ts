import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { join } from 'node:path';
import { openSqlite } from '../../../gateway/ground/store/sqlite.js';
import { removeTemporaries, temporary } from '../../support/temporary.js';

removeTemporaries();

test('a write of many statements lets the event loop go round in between', async () => {
  // A clock on which each look takes a millisecond, so that no machine is too fast or too slow.
  let nowMs = 0;
  const store = await openSqlite({
    file: join(temporary(), 'books.db'),
    migrations: [],
    clock: { defer: (task) => void setImmediate(task), monotonicMs: () => (nowMs += 1) },
    onFailed: (error) => {
      throw error;
    },
  });
  let rounds = 0;
  let isWriting = true;
  const count = () => {
    rounds += 1;
    if (isWriting) setImmediate(count);
  };
  setImmediate(count);
  const statements = 200;
  await store.write(async (tx) => {
    const roundsBefore = rounds;
    for (let each = 0; each < statements; each += 1) await sql`select 1`.execute(tx);
    rounds -= roundsBefore;
  });
  isWriting = false;
  await store.close();
  expect(rounds).toBeGreaterThan(statements / 10);
});
