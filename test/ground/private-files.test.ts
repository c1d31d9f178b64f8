import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ConfigError } from '../../gateway/ground/setting-kinds.js';
import {
  closedDataFolder,
  openToOthers,
  readSealingKey,
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
    readSealingKey(folder, undefined),
    readSealingKey(folder, undefined),
  ]);
  expect(both[0]).toEqual(both[1]);
  expect(both[0].key).toHaveLength(32);
  expect(await modeOf(join(folder, 'sealing.key'))).toBe('600');
  expect(await readSealingKey(folder, undefined)).toEqual(both[0]);
});

test('a key file of the operator’s is read, and named when others can read it', async () => {
  const file = join(folder, 'elsewhere.key');
  await writeFile(file, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  expect(await readSealingKey(folder, file)).toEqual({
    key: Buffer.from('ab'.repeat(32), 'hex'),
    warnings: [],
  });
  await chmod(file, 0o644);
  const { warnings } = await readSealingKey(folder, file);
  expect(warnings).toEqual([expect.stringMatching(/^SEALING_KEY_FILE: .* chmod 600/)]);
  expect(await openToOthers('RELAYER_PRIVATE_KEY_FILE', file)).toHaveLength(1);
});

test('a key file that is missing or holds something else stops the start, without its text', async () => {
  const file = join(folder, 'wrong.key');
  await expect(readSealingKey(folder, file)).rejects.toThrow(/cannot be read \(ENOENT\)/);
  await writeFile(file, 'a secret of another kind');
  const refused = await readSealingKey(folder, file).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  expect(String(refused)).toContain('64 hex digits');
  expect(String(refused)).not.toContain(await readFile(file, 'utf8'));
});
