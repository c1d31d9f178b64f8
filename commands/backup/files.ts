import { createHash } from 'node:crypto';
import {
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  closeSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, type Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ManifestFile, OpenedBackup } from './manifest.js';
import { BackupRefused } from './refused.js';
import type { BackupKeys } from './secrecy.js';

/** Counts and sums up what passes. */
function summing() {
  const hash = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  return { stream, sum: () => ({ bytes, sha256: hash.digest('hex') }) };
}

/** Writes one file of a backup durably, encrypted where there are keys. */
export async function writeBackupFile(
  folder: string,
  name: string,
  content: Readable,
  keys: BackupKeys | undefined,
): Promise<ManifestFile> {
  const place = join(folder, name);
  mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
  const { stream, sum } = summing();
  await pipeline(
    content,
    keys ? keys.encrypt(name) : new PassThrough(),
    stream,
    createWriteStream(place, { flags: 'wx', mode: 0o600, flush: true }),
  );
  return { name, ...sum() };
}

/** Compares every file of a backup with the list. @throws BackupRefused by the first that differs. */
export async function checkFiles({ folder, manifest }: OpenedBackup): Promise<void> {
  for (const { name, bytes, sha256 } of manifest.files) {
    const place = join(folder, name);
    const refused = (what: string) =>
      new BackupRefused('damaged', `${place} ${what}: take another backup.`);
    if (!existsSync(place)) throw refused('is missing');
    const { size } = await stat(place);
    if (size !== bytes) throw refused(`has ${size} bytes, and had ${bytes}`);
    const { stream, sum } = summing();
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    await pipeline(createReadStream(place), stream, nowhere);
    if (sum().sha256 !== sha256) throw refused('was changed');
  }
}

/** What was written, decrypted. Errors of the key come while it is read. */
export function readBackupFile({ folder, keys }: OpenedBackup, name: string): Readable {
  const content = createReadStream(join(folder, name));
  if (!keys) return content;
  const decrypted = keys.decrypt(name);
  content.on('error', (error) => decrypted.destroy(error));
  return content.pipe(decrypted);
}

/** Puts one file back, durably; it is this user's alone. @throws when the place is taken. */
export async function putBackFile(
  backup: OpenedBackup,
  name: string,
  place: string,
): Promise<void> {
  await pipeline(
    readBackupFile(backup, name),
    createWriteStream(place, { flags: 'wx', mode: 0o600, flush: true }),
  );
}

/** Makes the names in a folder durable. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
