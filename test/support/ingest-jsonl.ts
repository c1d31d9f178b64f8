/**
 * node ingest-jsonl.js INDEX FILE CHECKPOINT_LENGTH: loads a JSON Lines file with checkpoints close
 * to each other, and tells its parent the report.
 */
import { engineSink } from '../../search-core/ingest/engine-sink.js';
import { indexJsonl } from '../../search-core/ingest/jsonl-load.js';

const [index = '', file = '', length = ''] = process.argv.slice(2);
const options = { index, isAddition: false, checkpointLength: Number(length) };
const report = await indexJsonl(file, options, {
  sink: engineSink(index),
  progress: { show: () => undefined, end: () => undefined },
  signal: new AbortController().signal,
  nowMs: () => performance.now(),
});
process.send?.(report);
