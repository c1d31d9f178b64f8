import type { SearchRequest } from '../contract.js';
import type { SearchLimits, SearchOutcome } from '../engine.js';
import type { SnapshotHandle } from '../index/snapshot.js';
import type { SearchThreadAsk } from './messages.js';
import { Thread } from './thread.js';

/** A thread gets its next search before it has answered the last, so that it never waits for one. */
const PENDING_PER_THREAD = 2;

interface Queued {
  readonly request: SearchRequest;
  readonly limits: SearchLimits;
  readonly since: number;
  readonly resolve: (outcome: SearchOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** Threads that search the same snapshot, and the searches that wait for one, in order. */
export class SearchPool {
  private readonly queue: Queued[] = [];
  private threads: Thread<SearchThreadAsk>[] = [];
  private handle: SnapshotHandle | undefined;
  private closed = false;

  /** @param onError told about threads that ended by themselves; they are replaced */
  constructor(
    private readonly size: number,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Has all threads search this snapshot from their next search on. */
  async use(handle: SnapshotHandle): Promise<void> {
    this.handle = handle;
    if (this.threads.length === 0) {
      this.threads = Array.from({ length: this.size }, () => this.start());
    }
    await Promise.all(this.threads.map((thread) => thread.ask({ kind: 'snapshot', handle })));
  }

  /** The time that a search waits counts towards its deadline. */
  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> {
    return new Promise((resolve, reject) => {
      this.queue.push({ request, limits, since: performance.now(), resolve, reject });
      this.dispatch();
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.queue.splice(0)) reject(new Error('the engine is closed'));
    await Promise.all(this.threads.map((thread) => thread.end()));
  }

  private start(): Thread<SearchThreadAsk> {
    const module = new URL('./search-thread.js', import.meta.url);
    const thread = new Thread<SearchThreadAsk>(module, {}, (error) => {
      this.onError(error);
      if (this.closed) return;
      const next = this.start();
      this.threads[this.threads.indexOf(thread)] = next;
      if (this.handle) next.ask({ kind: 'snapshot', handle: this.handle }).catch(this.onError);
    });
    return thread;
  }

  private dispatch(): void {
    while (this.queue.length > 0) {
      const thread = this.threads.reduce((a, b) => (b.pending < a.pending ? b : a));
      if (thread.pending >= PENDING_PER_THREAD) return;
      const next = this.queue.shift();
      if (!next) return;
      const waited = performance.now() - next.since;
      const limits = { ...next.limits, deadlineMs: Math.max(0, next.limits.deadlineMs - waited) };
      thread
        .ask<SearchOutcome>({ kind: 'search', request: next.request, limits })
        .then(next.resolve, next.reject)
        .finally(() => this.dispatch());
    }
  }
}
