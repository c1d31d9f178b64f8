/** The worker thread that writes: it inverts pages and commits, and has merges done by another. */
import { workerData } from 'node:worker_threads';
import { openWriter } from '../index/open-writer.js';
import type { WriterThreadAsk } from './messages.js';
import { mergeOnThread } from './merge-runner.js';
import { answerAsks } from './thread.js';

const { indexDir } = workerData as { readonly indexDir: string };
const opened = openWriter(indexDir, mergeOnThread(indexDir));

answerAsks(async (ask: WriterThreadAsk) => {
  const writer = await opened;
  if (ask.kind === 'commit') {
    await writer.commit();
    // Not awaited: pages keep coming while segments are merged. What a failed merge left undone
    // is tried again with the next commit.
    writer.merge().catch(() => undefined);
    return null;
  }
  for (const change of ask.changes) {
    if (change.put) await writer.put(change.put);
    else writer.delete(change.delete);
  }
  return null;
});
