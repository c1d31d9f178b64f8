import { Worker } from 'node:worker_threads';
import type { SegmentMeta } from '../index/files.js';
import type { MergeRunner } from '../index/writer.js';
import type { MergeTask } from './messages.js';

/** Merges on a thread of its own, one for each merge. */
export function mergeOnThread(indexDir: string): MergeRunner {
  return (name, inputs) => {
    const task: MergeTask = {
      indexDir,
      name,
      inputs: inputs.map(({ segment, deleted }) => ({
        meta: segment.meta,
        deleted: deleted.toBytes(),
      })),
    };
    const worker = new Worker(new URL('./merge-thread.js', import.meta.url), { workerData: task });
    return new Promise<SegmentMeta>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('a merge ended without a result')));
    });
  };
}
