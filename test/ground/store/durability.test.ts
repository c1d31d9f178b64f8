import { afterAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = mkdtempSync(join(tmpdir(), 'durable-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const STORE = fileURLToPath(new URL('../../../gateway/ground/store/open.js', import.meta.url));
const PORTS = fileURLToPath(new URL('../../support/ports.js', import.meta.url));

/** A program that makes so many rounds of so many writes at once, and says what was counted. */
const program = (rounds: number, writes: number) => `
import { openStore } from ${JSON.stringify(STORE)};
import { realClock, realRandom } from ${JSON.stringify(PORTS)};
const migrations = [{ name: 'a', statements: () => ['create table t (x integer not null)'] }];
const location = ${JSON.stringify(folder)} + '/' + process.argv[2];
const store = await openStore({ location, migrations },
  { clock: realClock, random: realRandom, onFailed: () => process.exit(3) });
const before = store.health().commits;
process.stderr.write('START\\n');
for (let round = 0; round < ${rounds}; round += 1) {
  await Promise.all(Array.from({ length: ${writes} }, () =>
    store.write((tx) => tx.insertInto('t').values({ x: round }).execute())));
}
process.stderr.write('END\\n');
console.log(store.health().commits - before);
process.exit(0);
`;

/** The tool that counts system calls, where a machine has it. */
const TRACER = 'strace';
const hasStrace = spawnSync(TRACER, ['-V']).status === 0;
const script = (rounds: number, writes: number) => {
  const path = join(folder, `writes-${rounds}-${writes}.mjs`);
  writeFileSync(path, program(rounds, writes));
  return path;
};

/** System calls that put a file's data on the disk, between the program's two marks. */
function countedSyncs(path: string, database: string): number {
  const trace = join(folder, `${database}.trace`);
  const calls = 'trace=fsync,fdatasync,write';
  const args = ['-f', '-o', trace, '-e', calls, process.execPath, path, database];
  const run = spawnSync(TRACER, args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr);
  const lines = readFileSync(trace, 'utf8').split('\n');
  const start = lines.findIndex((line) => line.includes('"START\\n"'));
  const end = lines.findIndex((line) => line.includes('"END\\n"'));
  return lines.slice(start, end).filter((line) => /\b(fsync|fdatasync)\(/.test(line)).length;
}

describe('every commit of the SQLite store waits for the disk', () => {
  test('16 writes at once are one commit, in each of 10 rounds', () => {
    const run = spawnSync(process.execPath, [script(10, 16), 'a.db'], { encoding: 'utf8' });
    expect(run.stdout.trim()).toBe('10');
  });

  // Where strace is not installed the commits are counted above, and opening the store has
  // refused any connection whose synchronous is not FULL after a write.
  (hasStrace ? test : test.skip)(
    'and each commit is one fsync, counted at the system calls',
    () => {
      const syncs = countedSyncs(script(10, 16), 'b.db');
      // The log's first frame after its header is synced separately, once.
      expect(syncs).toBeGreaterThanOrEqual(10);
      expect(syncs).toBeLessThanOrEqual(12);
    },
  );
});
