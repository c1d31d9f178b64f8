import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { openDirectory } from '../../search-core/disk/filesystem.js';
import { readAll } from '../../search-core/disk/directory.js';
import { COMMIT_FILE, filesOf, readCommit } from '../../search-core/index/commit.js';
import { writeBackupFile } from './files.js';
import { INDEX_FOLDER, type ManifestFile } from './manifest.js';
import { BackupRefused } from './refused.js';
import type { BackupKeys } from './secrecy.js';

/** One commit of the index, with each of its files held open: nothing can take them away. */
interface HeldIndex {
  readonly generation: number;
  readonly pages: number;
  readonly commit: Uint8Array;
  readonly files: readonly { readonly name: string; readonly handle: FileHandle }[];
  close(): Promise<void>;
}

/** A load or a merge may replace the commit while its files are opened: then once more. */
const ATTEMPTS_MAX = 20;

async function hold(indexDir: string): Promise<HeldIndex> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = openDirectory(indexDir);
    const files: { name: string; handle: FileHandle }[] = [];
    const close = async () => {
      await Promise.all(files.map(({ handle }) => handle.close()));
    };
    try {
      const commit = readCommit(directory);
      const bytes = readAll(directory, COMMIT_FILE);
      for (const name of filesOf(commit)) {
        files.push({ name, handle: await open(join(indexDir, name)) });
      }
      if (readCommit(directory).generation === commit.generation) {
        const pages = commit.segments.reduce((sum, { meta }) => sum + meta.documents, 0);
        return { generation: commit.generation, pages, commit: bytes, files, close };
      }
      await close();
      if (attempt >= ATTEMPTS_MAX) throw new Error('the index never stands still');
    } catch (error) {
      await close();
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (isGone && attempt < ATTEMPTS_MAX) continue;
      const reason = error instanceof Error ? error.message : String(error);
      throw new BackupRefused(
        'index-damaged',
        `the index in ${indexDir} cannot be copied (${reason}): see npm run index -- check, or leave it out (--without-index).`,
      );
    }
  }
}

/** Copies the index as of one commit, while others may write to it. */
export async function copyIndex(
  indexDir: string,
  folder: string,
  keys: BackupKeys | undefined,
): Promise<{ index: { generation: number; pages: number }; files: readonly ManifestFile[] }> {
  const held = await hold(indexDir);
  try {
    const files: ManifestFile[] = [];
    const write = async (name: string, content: Readable) => {
      files.push(await writeBackupFile(folder, `${INDEX_FOLDER}/${name}`, content, keys));
    };
    for (const { name, handle } of held.files) {
      await write(name, createReadStream('', { fd: handle, autoClose: false, start: 0 }));
    }
    await write(COMMIT_FILE, Readable.from([Buffer.from(held.commit)], { objectMode: false }));
    return { index: { generation: held.generation, pages: held.pages }, files };
  } finally {
    await held.close();
  }
}
