/** A worker thread that searches snapshots over the memory that all threads share. */
import { Snapshot } from '../index/snapshot.js';
import { Searcher } from '../query/searcher.js';
import type { SearchThreadAsk } from './messages.js';
import { answerAsks } from './thread.js';

const now = (): number => performance.now();
let searcher: Searcher | undefined;

answerAsks((ask: SearchThreadAsk) => {
  if (ask.kind === 'search') {
    if (!searcher) throw new Error('there is no snapshot to search');
    return searcher.search(ask.request, ask.limits);
  }
  const previous = searcher?.snapshot;
  const snapshot = Snapshot.attach(ask.handle, previous);
  searcher = new Searcher(snapshot, now);
  previous?.close(snapshot);
  return null;
});
