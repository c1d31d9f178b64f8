import { closeSync, fsync, linkSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { isCode } from './records.js';

const flush = promisify(fsync);

/**
 * Writes a new file, readable by its owner alone, and flushes it to the disk. Only the flush
 * waits: everything else takes microseconds.
 */
export async function writeFlushed(path: string, content: string): Promise<void> {
  const file = openSync(path, 'wx', 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; at += writeSync(file, bytes, at));
    await flush(file);
  } finally {
    closeSync(file);
  }
}

/** Makes names in a folder durable, where the platform lets folders be opened and flushed. */
export async function syncDirectory(path: string): Promise<void> {
  let folder: number;
  try {
    folder = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    await flush(folder).catch(() => undefined);
  } finally {
    closeSync(folder);
  }
}

/**
 * Makes a file with its whole content at once, unless it is there already. Of any number of
 * processes that try, exactly one does: `link` (POSIX) fails where the name exists. A file that
 * is not linked is nobody's, so a process may die at any point.
 *
 * @param draft a name that nobody else uses, for the file before it bears its own
 * @returns whether it was this one; rejects with ENOENT where the folder is gone
 */
export async function putOnce(path: string, content: string, draft: string): Promise<boolean> {
  const drafted = `${path}.${draft}.draft`;
  try {
    await writeFlushed(drafted, content);
    linkSync(drafted, path);
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    forget(drafted);
  }
  await syncDirectory(dirname(path));
  return true;
}

function forget(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It went with its folder, or was never made.
  }
}
