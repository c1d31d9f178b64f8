import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ConfigError } from '../../gateway/ground/setting-kinds.js';
import {
  closedDataFolder,
  openToOthers,
  readSealingKeys,
} from '../../gateway/ground/private-files.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'search402-modes-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test('a data folder that was open to others is closed, and each thing is named', async () => {
  const data = join(folder, 'data');
  await mkdir(join(data, 'index'), { recursive: true });
  await writeFile(join(data, 'search402.db'), '');
  await writeFile(join(data, 'quiet'), '', { mode: 0o600 });
  await chmod(data, 0o755);
  await chmod(join(data, 'index'), 0o755);
  await chmod(join(data, 'search402.db'), 0o644);
  const warnings = await closedDataFolder(data);
  expect(warnings).toHaveLength(3);
  expect(warnings.join()).toContain(`${join(data, 'search402.db')} was open to other users`);
  expect(warnings.join()).toContain('mode 0644');
  expect(await modeOf(data)).toBe('700');
  expect(await modeOf(join(data, 'index'))).toBe('700');
  expect(await modeOf(join(data, 'search402.db'))).toBe('600');
  expect(await closedDataFolder(data)).toEqual([]);
});

test('a folder that everybody may write to is named and left as it is', async () => {
  await chmod(folder, 0o1777);
  const [warning] = await closedDataFolder(folder);
  expect(warning).toContain(`Close it: chmod go-rwx ${folder}`);
  expect(await modeOf(folder)).toBe('777');
});

test('the sealing key is made once, for its owner alone, also by two starts at once', async () => {
  const both = await Promise.all([
    readSealingKeys(folder, undefined),
    readSealingKeys(folder, undefined),
  ]);
  expect(both[0]).toEqual(both[1]);
  expect(both[0].keys[0]).toHaveLength(32);
  expect(await modeOf(join(folder, 'sealing.key'))).toBe('600');
  expect(await readSealingKeys(folder, undefined)).toEqual(both[0]);
});

test('a key file of the operator’s is read, and named when others can read it', async () => {
  const file = join(folder, 'elsewhere.key');
  await writeFile(file, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  expect(await readSealingKeys(folder, file)).toEqual({
    keys: [Buffer.from('ab'.repeat(32), 'hex')],
    warnings: [],
  });
  await chmod(file, 0o644);
  const { warnings } = await readSealingKeys(folder, file);
  expect(warnings).toEqual([expect.stringMatching(/^SEALING_KEY_FILE: .* chmod 600/)]);
  expect(await openToOthers('RELAYER_PRIVATE_KEY_FILE', file)).toHaveLength(1);
});

test('a key file may hold a new key and older ones, one a line', async () => {
  const file = join(folder, 'rotated.key');
  await writeFile(file, `${'cd'.repeat(32)}\n${'ab'.repeat(32)}\n`, { mode: 0o600 });
  const { keys } = await readSealingKeys(folder, file);
  expect(keys.map((key) => Buffer.from(key).toString('hex').slice(0, 2))).toEqual(['cd', 'ab']);
  await writeFile(file, `${'cd'.repeat(32)}\nno key\n`);
  await expect(readSealingKeys(folder, file)).rejects.toThrow(/64 hex digits/);
});

test('a key file that is missing or holds something else stops the start, without its text', async () => {
  const file = join(folder, 'wrong.key');
  await expect(readSealingKeys(folder, file)).rejects.toThrow(/cannot be read \(ENOENT\)/);
  await writeFile(file, 'a secret of another kind');
  const refused = await readSealingKeys(folder, file).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  expect(String(refused)).toContain('64 hex digits');
  expect(String(refused)).not.toContain(await readFile(file, 'utf8'));
});
