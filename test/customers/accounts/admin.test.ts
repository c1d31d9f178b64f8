import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openCredits } from '../../../gateway/customers/credits/credits.js';
import { KEY_CACHE_MS } from '../../../gateway/customers/keys/authenticate.js';
import { openKeys, type Keys } from '../../../gateway/customers/keys/keys.js';
import { MIGRATIONS } from '../../../gateway/wiring/migrations.js';
import { openStore } from '../../../gateway/ground/store/open.js';
import type { Store } from '../../../gateway/ground/store/store.js';
import { realClock, realRandom } from '../../support/ports.js';

const program = fileURLToPath(new URL('../../../gateway/admin.js', import.meta.url));
let dataDir: string;
let store: Store;
let keys: Keys;

/** The database as a running gateway has it open, while the command line runs beside it. */
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'search402-admin-'));
  store = await openStore(
    { location: join(dataDir, 'search402.db'), migrations: MIGRATIONS },
    { clock: realClock, random: realRandom, onFailed: () => undefined },
  );
  keys = openKeys(store, realClock, realRandom);
});
afterAll(async () => {
  await store.close();
  await rm(dataDir, { recursive: true, force: true });
});

const adminIn = (folder: string, ...args: string[]) =>
  new Promise<{ code: number; out: string; err: string }>((resolve) => {
    const env = { ...process.env, DATA_DIR: folder, DATABASE_URL: '' };
    const child = execFile(process.execPath, [program, ...args], { env }, (_error, out, err) => {
      resolve({ code: child.exitCode ?? 1, out, err });
    });
  });
const admin = (...args: string[]) => adminIn(dataDir, ...args);
const ask = async (key: string) => {
  const answer = await keys.authenticate(`Bearer ${key}`);
  return answer.kind === 'refusal' ? answer.code : answer.caller.account.ratePerSecond;
};

describe('npm run admin', () => {
  let id: string;
  let key: string;

  test('makes an account and a key that a running gateway takes', async () => {
    id = (await admin('create', 'Nightly jobs', '--credits', '50')).out.trim();
    key = (await admin('key', id, 'job', '--budget', '5')).out.trim();
    expect(await ask(key)).toBe(20);
    expect((await admin('accounts')).out).toContain('50 of 50 credits left  Nightly jobs');
    const shown = (await admin('account', id)).out;
    expect(shown).toContain(`…${key.slice(-4)}`);
    expect(shown).not.toContain(key);
  });

  test('changes plan, agreed rate and suspension within the stated second', async () => {
    await admin('plan', id, 'enterprise', '--rate', '300');
    await realClock.sleep(KEY_CACHE_MS);
    expect(await ask(key)).toBe(300);
    expect((await admin('plan', id, 'enterprise', '--days', '30')).out).toMatch(/until \d{4}-/);
    await admin('plan', id, 'enterprise', '--rate', '300');
    await admin('suspend', id, 'unpaid', 'invoice');
    await realClock.sleep(KEY_CACHE_MS);
    expect(await ask(key)).toBe('account_suspended');
    await admin('resume', id);
    await realClock.sleep(KEY_CACHE_MS);
    expect(await ask(key)).toBe(300);
  });

  test('adds credits once for each reference', async () => {
    await admin('credits', id, '100', '--reference', 'invoice 7');
    const again = await admin('credits', id, '100', '--reference', 'invoice 7');
    expect(again.out).toContain('these credits were already added');
    expect(await openCredits(store, realClock, realRandom).balance(id)).toMatchObject({
      available: 150,
    });
    expect((await admin('reconcile')).out).toContain('All balances match');
  });

  test('ends a key, for a running gateway within the stated second', async () => {
    const keyId = /^ {2}([0-9a-f-]{36})/m.exec((await admin('account', id)).out)?.[1] ?? '';
    expect((await admin('revoke', id, keyId)).code).toBe(0);
    await realClock.sleep(KEY_CACHE_MS);
    expect(await ask(key)).toBe('invalid_api_key');
  });

  test.each([
    ['nonsense'],
    ['account', 'nobody'],
    ['suspend', 'nobody', 'why'],
    ['suspend', 'x'],
    ['plan', 'x', 'gold'],
    ['plan', 'x', 'pro', '--rate', '0'],
    ['plan', 'x', 'pro', '--days', '3'],
    ['credits', 'nobody', '5'],
    ['credits', 'x', '-5'],
    ['create'],
    ['key', 'nobody', 'name'],
    ['revoke', 'x', 'y'],
  ])('refuses %p %p in plain words and with a code', async (...args) => {
    const { code, out, err } = await admin(...(args as string[]).filter(Boolean));
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).not.toContain('    at ');
  });
});

test('npm run admin says in one line what to do about a file that is no database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'search402-no-database-'));
  await writeFile(join(folder, 'search402.db'), 'no database '.repeat(1000));
  const { code, out, err } = await adminIn(folder, 'accounts');
  await rm(folder, { recursive: true, force: true });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(
    /^\S+search402\.db is damaged, or no SQLite database: put the last backup.*\n$/,
  );
});
