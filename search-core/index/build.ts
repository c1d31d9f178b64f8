import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Page } from '../page.js';

export interface BuildProgress {
  readonly pages: number;
  readonly textBytes: number;
  readonly segments: number;
}

/** Replaces the whole index of `indexDir` by `pages`, in one atomic commit at the end. */
export async function buildIndex(
  indexDir: string,
  pages: AsyncIterable<Page>,
  onProgress?: (progress: BuildProgress) => void,
): Promise<BuildProgress> {
  mkdirSync(indexDir, { recursive: true });
  const out = createWriteStream(join(indexDir, 'pages.jsonl.new'));
  const progress = { pages: 0, textBytes: 0, segments: 1 };
  for await (const { url, title, text } of pages) {
    if (!out.write(`${JSON.stringify({ url, title, text })}\n`)) await once(out, 'drain');
    progress.pages++;
    progress.textBytes += Buffer.byteLength(text);
    if (progress.pages % 1_000 === 0) onProgress?.({ ...progress });
  }
  out.end();
  await once(out, 'finish');
  renameSync(join(indexDir, 'pages.jsonl.new'), join(indexDir, 'pages.jsonl'));
  return progress;
}
