/** A worker thread that does one merge and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { openDirectory } from '../disk/filesystem.js';
import { DeletedSet } from '../index/deletes.js';
import { mergeSegments } from '../index/merge.js';
import { Segment } from '../index/segment.js';
import type { MergeTask } from './messages.js';

const task = workerData as MergeTask;
const directory = openDirectory(task.indexDir);
const inputs = task.inputs.map(({ meta, deleted }) => ({
  segment: Segment.open(directory, meta),
  deleted: new DeletedSet(deleted),
}));
parentPort?.postMessage(mergeSegments(directory, task.name, inputs));
