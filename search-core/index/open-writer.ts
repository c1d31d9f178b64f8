import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDirectory } from '../disk/filesystem.js';
import { lock } from '../disk/lock.js';
import { IndexWriter, type MergeRunner } from './writer.js';

/**
 * Opens the one writer of an index directory, which is created when it is missing.
 * @throws LockedError if another process has it open
 */
export function openWriter(
  indexDir: string,
  runMerge?: MergeRunner,
  job?: string,
): Promise<IndexWriter> {
  return new Promise((resolve) => {
    mkdirSync(indexDir, { recursive: true });
    const held = lock(join(indexDir, 'writer.lock'), `the index ${indexDir}`);
    try {
      resolve(new IndexWriter(openDirectory(indexDir), runMerge, held, job));
    } catch (error) {
      held.release();
      throw error;
    }
  });
}
