import { chmod, lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { devAccounts } from '../../gateway/dev/accounts.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { runGateway, startGateway, written } from '../support/gateway-process.js';

const ADMIN = fileURLToPath(new URL('../../gateway/admin.js', import.meta.url));
const ANVIL_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const ANVIL_ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search402-safe-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Every path below a folder whose mode lets others in, with that mode. */
async function openPaths(path: string): Promise<string[]> {
  const found = await lstat(path);
  const own = (found.mode & 0o077) === 0 ? [] : [`${path} ${(found.mode & 0o777).toString(8)}`];
  if (!found.isDirectory()) return own;
  const below = await Promise.all((await readdir(path)).map((name) => openPaths(join(path, name))));
  return [...own, ...below.flat()];
}

async function allPaths(path: string): Promise<string[]> {
  if (!(await lstat(path)).isDirectory()) return [path];
  const below = await Promise.all((await readdir(path)).map((name) => allPaths(join(path, name))));
  return below.flat();
}

test('everything that a start creates is its user’s alone, while it runs and afterwards', async () => {
  const dataDir = join(folder, 'data');
  const gateway = await startGateway({ DATA_DIR: dataDir, DEV_BLOCK_TIME_MS: '250' });
  const paths = (await allPaths(dataDir)).join('\n');
  for (const name of [
    'search402.db',
    'search402.db-wal',
    'search402.db-shm',
    'search402.db.lock',
    'sealing.key',
    'dev.json',
    'anvil.log',
    'index/',
  ]) {
    expect(paths).toContain(name);
  }
  expect(await openPaths(dataDir)).toEqual([]);
  expect(gateway.output()).not.toContain('WARNING');
  gateway.process.kill('SIGTERM');
  expect(await gateway.exited).toBe(0);
  expect(await openPaths(dataDir)).toEqual([]);

  // As an older version, or a restored backup, left it.
  await chmod(join(dataDir, 'search402.db'), 0o644);
  await chmod(dataDir, 0o755);
  const again = await startGateway({ DATA_DIR: dataDir, DEV_BLOCK_TIME_MS: '250' });
  expect(again.output()).toContain(`WARNING: ${join(dataDir, 'search402.db')} was open to other`);
  expect(await openPaths(dataDir)).toEqual([]);
  again.process.kill('SIGTERM');
  await again.exited;
});

test('a database whose secrets were sealed with another key is refused, with what to do', async () => {
  const dataDir = join(folder, 'data');
  const env = {
    DATA_DIR: dataDir,
    DEV_BLOCK_TIME_MS: '250',
    SEARCH_CORE_URL: 'http://127.0.0.1:1',
  };
  const first = await startGateway(env);
  first.process.kill('SIGTERM');
  await first.exited;
  const key = join(folder, 'other.key');
  await writeFile(key, 'cd'.repeat(32), { mode: 0o600 });
  const second = runGateway({ ...env, SEALING_KEY_FILE: key });
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain('sealed with another key');
  expect(second.output()).not.toContain('cd'.repeat(32));

  const admin = promisify(execFile)(process.execPath, [ADMIN, 'new-secrets'], {
    env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '' },
  });
  expect((await admin).stdout).toContain('Everyone must sign in again');
  const third = await startGateway({ ...env, SEALING_KEY_FILE: key });
  third.process.kill('SIGTERM');
  await third.exited;
});

describe('with the settings of a real chain', () => {
  let chain: TestChain;
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.stop());

  const settings = (more: Record<string, string>) => ({
    DATA_DIR: join(folder, 'data'),
    RPC_URLS: chain.rpcUrl,
    PAY_TO: chain.payTo,
    RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    SEARCH_CORE_URL: 'http://127.0.0.1:1',
    ...more,
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      'our own development relayer',
      { RELAYER_PRIVATE_KEY: devAccounts.relayerPrivateKey },
      /The relayer 0x\w{40} is an account whose key is public/,
    ],
    ['anvil’s first account', { RELAYER_PRIVATE_KEY: ANVIL_KEY }, /The relayer 0x\w{40} is an/],
    ['revenue to anvil’s first account', { PAY_TO: ANVIL_ADDRESS }, /PAY_TO \(0x\w{40}\) is an/],
  ])('%s is refused at start', async (_what, more, text) => {
    const refused = runGateway(settings(more));
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toMatch(text);
    expect(refused.output()).not.toContain(more.RELAYER_PRIVATE_KEY ?? 'nothing');
  });

  test('a start without PUBLIC_URL and SMTP_URL names both', async () => {
    const key = join(folder, 'relayer.key');
    await writeFile(key, chain.relayerPrivateKey);
    await chmod(key, 0o644);
    const { RELAYER_PRIVATE_KEY: _, ...rest } = settings({ RELAYER_PRIVATE_KEY_FILE: key });
    const gateway = runGateway(rest);
    await written(gateway, 'Stop with Ctrl-C');
    for (const name of [
      'PUBLIC_URL is not set',
      'SMTP_URL is not set',
      'RELAYER_PRIVATE_KEY_FILE:',
    ]) {
      expect(gateway.output()).toContain(`WARNING: ${name}`);
    }
    gateway.process.kill('SIGTERM');
    await gateway.exited;
  });
});
