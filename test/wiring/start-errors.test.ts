/** What an operator sees when the service cannot start: one sentence, and no stack. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runGateway } from '../support/gateway-process.js';
import { canMount, mountTemporary } from '../support/mount.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search402-start-errors-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the gateway wrote before it gave up. Nothing but what it says itself may be there. */
async function refusal(
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<string> {
  const run = runGateway({ LOG_LEVEL: 'silent', ...env }, { args });
  const code = await run.exited;
  expect({ code, output: run.output() }).toEqual({ code: 1, output: expect.any(String) });
  expect(run.output().trim().split('\n')).toHaveLength(1);
  expect(run.output()).not.toMatch(/\bat .*:\d+:\d+/);
  return run.output();
}

describe('a start that cannot be says why in one sentence', () => {
  test.each<[string, string[], string]>([
    ['an unknown flag', ['--frok', 'http://localhost'], '--frok is not known'],
    ['a word too many', ['--fork', 'http://localhost', 'again'], 'again is not known'],
    ['a fork of nothing', ['--fork'], '--fork needs the http(s) URL'],
  ])('%s', async (_, args, sentence) => {
    expect(await refusal({ DATA_DIR: folder }, args)).toContain(sentence);
  });

  test.each(['PORT', 'API_PORT', 'OPS_PORT'])('%s is taken', async (setting) => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const port = String((other.address() as AddressInfo).port);
    const said = await refusal({
      DATA_DIR: join(folder, setting),
      SEARCH_CORE_URL: 'http://127.0.0.1:1',
      [setting]: port,
    });
    other.close();
    expect(said).toBe(
      `search402 did not start. Port ${port} on 127.0.0.1 is already in use. Stop the other program, ` +
        `or set ${setting} to another port.\n`,
    );
  });

  test('the data folder is a file', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(await refusal({ DATA_DIR: file })).toContain(`${file} is a file`);
    expect(await refusal({ DATA_DIR: join(file, 'below') })).toContain(`${file} is a file`);
  });

  test('the data folder is where no folder can be made', async () => {
    expect(await refusal({ DATA_DIR: '/proc/search402' })).toContain(
      'The data folder /proc/search402 cannot be used: no such file or directory.',
    );
  });

  test('the database is a folder', async () => {
    const dataDir = join(folder, 'odd');
    await mkdir(join(dataDir, 'search402.db'), { recursive: true });
    const said = await refusal({ DATA_DIR: dataDir, SEARCH_CORE_URL: 'http://127.0.0.1:1' });
    expect(said).toMatch(/search402\.db cannot be used: it cannot be opened/);
  });
});

describe('a PostgreSQL that cannot be used is told in one sentence, with what to check', () => {
  let server: TestPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  const cases: [string, () => string, RegExp][] = [
    [
      'a dead port',
      () => 'postgresql://test@127.0.0.1:1/postgres',
      /:1 cannot be reached \(.*refus/i,
    ],
    [
      'an unknown host',
      () => 'postgresql://test@nowhere.invalid/x',
      /nowhere\.invalid:5432 cannot/,
    ],
    [
      'an unknown database',
      () => server.url.replace(/postgres$/, 'nothing'),
      /database "nothing" does not exist; create it/,
    ],
    [
      'an unknown user',
      () => server.url.replace('test@', 'nobody@'),
      /role "nobody" does not exist; check the user/,
    ],
  ];
  test.each(cases)('%s: at the start, and in a command', async (_, url, sentence) => {
    const said = await refusal({
      DATA_DIR: join(folder, 'postgres'),
      SEARCH_CORE_URL: 'http://127.0.0.1:1',
      DATABASE_URL: url(),
    });
    expect(said).toMatch(sentence);
    for (const program of ['gateway/admin.js', 'commands/ledger.js']) {
      const told = await command(program, url());
      expect(told.trim().split('\n')).toHaveLength(1);
      expect(told).toMatch(sentence);
    }
  });
});

/** What a command writes about its database before it gives up. */
function command(program: string, url: string): Promise<string> {
  const file = new URL(`../../${program}`, import.meta.url).pathname;
  const args = program.startsWith('gateway') ? ['accounts'] : ['list'];
  const env = {
    PATH: process.env.PATH ?? '',
    DATA_DIR: join(folder, 'command'),
    DATABASE_URL: url,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) => {
      expect(error?.code).toBe(1);
      resolve(stdout + stderr);
    });
  });
}

// Permissions do not stop the superuser, and nobody else may mount a disk.
(canMount() ? describe : describe.skip)('on a disk of its own', () => {
  test.each([
    ['full', 'size=64k', 'no space left on device'],
    ['read-only', 'ro', 'read-only file system'],
  ])('a disk that is %s', async (name, option, reason) => {
    const disk = mountTemporary(join(folder, name), option);
    try {
      const said = await refusal({ DATA_DIR: disk.path });
      expect(said).toContain(`The data folder ${disk.path} cannot be used: ${reason}`);
    } finally {
      disk.unmount();
    }
  });
});
