/** Backups in tests: made and put back in this process, and changed as an accident or a thief would. */
import { createHash } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { makeBackup, type Made } from '../../commands/backup/make.js';
import {
  type Manifest,
  MANIFEST_FILE,
  manifestText,
  openBackup,
} from '../../commands/backup/manifest.js';
import { type Part, PARTS } from '../../commands/backup/put-back.js';
import { BackupRefused } from '../../commands/backup/refused.js';
import { restore, type Restored } from '../../commands/backup/restore.js';
import { type KeySource, readKeySource } from '../../commands/backup/secrecy.js';
import { temporary } from './temporary.js';

export function backUp(
  env: NodeJS.ProcessEnv,
  into: string,
  more: { readonly keyFile?: string; readonly withSecrets?: boolean } = {},
): Promise<Made> {
  const { keyFile, withSecrets = false } = more;
  const source = readKeySource({ keyFile });
  return makeBackup(env, { into, source, withSecrets, withIndex: true, withChain: false });
}

export function putBack(
  backup: string,
  env: NodeJS.ProcessEnv,
  { source, parts = PARTS }: { readonly source?: KeySource; readonly parts?: readonly Part[] } = {},
): Promise<Restored> {
  return (async () => restore(openBackup(backup, source), env, new Set(parts)))();
}

/** The code of a refusal. @throws whatever else came of it */
export async function faultOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof BackupRefused) return error.fault;
    throw error;
  }
  return 'nothing was refused';
}

/** A copy of a backup for a test to spoil. */
export function copyOf(backup: string): string {
  const copy = join(temporary(), 'copy');
  cpSync(backup, copy, { recursive: true });
  return copy;
}

/** Changes the list of a backup without a key, and seals it again as whoever made it would have. */
export function rewrite(backup: string, change: (manifest: Manifest) => object): void {
  const file = join(backup, MANIFEST_FILE);
  const { manifest } = JSON.parse(readFileSync(file, 'utf8')) as { manifest: Manifest };
  writeFileSync(file, manifestText(change(manifest) as Manifest, undefined));
}

/** The rows of a backup without a key, one a line. */
export const bookLines = (backup: string): readonly string[] =>
  gunzipSync(readFileSync(join(backup, 'books.jsonl.gz')))
    .toString()
    .trim()
    .split('\n');

/** Replaces a file of a backup without a key, so that its list agrees with it. */
export function replaceFile(backup: string, name: string, content: Uint8Array): void {
  writeFileSync(join(backup, name), content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  rewrite(backup, (manifest) => ({
    ...manifest,
    files: manifest.files.map((file) =>
      file.name === name ? { name, bytes: content.length, sha256 } : file,
    ),
  }));
}

export const zipped = (lines: readonly string[]) => gzipSync(Buffer.from(`${lines.join('\n')}\n`));
