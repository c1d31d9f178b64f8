import { openWriter } from './open-writer.js';
import type { Page } from '../page.js';

interface BuildProgress {
  readonly pages: number;
  /** UTF-16 code units of text so far. */
  readonly textLength: number;
}

const PROGRESS_PAGES = 1_000;

/**
 * Replaces the whole index of a directory by `pages`, in one commit at the end; until then, and if
 * it fails, the old index serves. What comes out is one segment.
 * @throws LockedError if another process writes the index
 */
export async function buildIndex(
  indexDir: string,
  pages: AsyncIterable<Page>,
  onProgress?: (progress: BuildProgress) => void,
): Promise<BuildProgress> {
  const writer = await openWriter(indexDir);
  try {
    const progress = { pages: 0, textLength: 0 };
    writer.clear();
    for await (const page of pages) {
      await writer.put(page);
      progress.pages++;
      progress.textLength += page.text.length;
      if (progress.pages % PROGRESS_PAGES === 0) onProgress?.({ ...progress });
    }
    await writer.compact();
    onProgress?.({ ...progress });
    return progress;
  } finally {
    await writer.close();
  }
}
