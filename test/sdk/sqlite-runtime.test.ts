import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { loadSqlite } from '../../sdk/typescript/src/node/sqlite-store.js';

/**
 * This project runs on Node 20, which has no SQLite. `NODE_WITH_SQLITE` names a Node (22.13 or
 * newer) that has: the same tests of the store then run there.
 */
test('the store in SQLite keeps the same promises, where there is a Node that has SQLite', async () => {
  const { NODE_WITH_SQLITE: program } = process.env;
  if (program === undefined || (await loadSqlite()) !== undefined) {
    const isHere = (await loadSqlite()) !== undefined;
    const where = isHere ? 'tried in this Node' : 'NOT TRIED: set NODE_WITH_SQLITE to a Node 24';
    process.stderr.write(`▸ the payment store in SQLite: ${where}\n`);
    return;
  }
  const jest = ['node_modules/jest/bin/jest.js', 'test/sdk/file-store', '--verbose'];
  const { stderr } = await promisify(execFile)(program, ['--experimental-vm-modules', ...jest]);
  expect(stderr).toMatch(/the store in sqlite\n\s+✓ gives back what was put/);
});
