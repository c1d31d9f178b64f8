import { mkdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SearchRequest } from '../contract.js';
import { openDirectory } from '../disk/filesystem.js';
import { COMMIT_FILE } from '../index/commit.js';
import { Snapshot } from '../index/snapshot.js';
import type { WriterThreadAsk } from '../threads/messages.js';
import { SearchPool } from '../threads/search-pool.js';
import { Thread } from '../threads/thread.js';
import type { Change, Engine, EngineStats, SearchLimits, SearchOutcome } from '../engine.js';

export interface ThreadedEngineOptions {
  readonly indexDir: string;
  /** Threads that search; by default one per core. */
  readonly threads?: number;
  /** Told about what went wrong in the background; the engine goes on. */
  readonly onError: (error: unknown) => void;
}

/** How often the directory is looked at for a commit of another process. */
const RELOAD_MS = 200;
const RELOAD_ATTEMPTS = 5;

/**
 * The embedded engine over several threads. Each searches by itself; the index's memory is shared,
 * so it is there once. Commits, by this engine or by another process, are taken up while searches
 * run: a search sees one commit from beginning to end.
 */
export class ThreadedEngine implements Engine {
  private readonly pool: SearchPool;
  private readonly timer: NodeJS.Timeout;
  private snapshot: Snapshot | undefined;
  private writer: Thread<WriterThreadAsk> | undefined;
  private seen = '';
  private reloading: Promise<void> = Promise.resolve();

  private constructor(private readonly options: ThreadedEngineOptions) {
    const { indexDir, threads, onError } = options;
    mkdirSync(indexDir, { recursive: true });
    this.pool = new SearchPool(indexDir, threads ?? availableParallelism(), onError);
    this.timer = setInterval(() => {
      if (this.stamp() !== this.seen) this.reload().catch(onError);
    }, RELOAD_MS);
    this.timer.unref();
  }

  static async open(options: ThreadedEngineOptions): Promise<ThreadedEngine> {
    const engine = new ThreadedEngine(options);
    try {
      await engine.reload();
      return engine;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> {
    return this.pool.search(request, limits);
  }

  async apply(changes: readonly Change[]): Promise<void> {
    await this.writing().ask({ kind: 'apply', changes });
  }

  async commit(): Promise<void> {
    await this.writing().ask({ kind: 'commit' });
    await this.reload();
  }

  stats(): Promise<EngineStats> {
    return Promise.resolve({
      pages: this.snapshot?.pages ?? 0,
      generation: this.snapshot?.commit.generation ?? 0,
    });
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.reloading.catch(() => undefined);
    await Promise.all([this.pool.close(), this.writer?.end()]);
    this.snapshot?.close();
  }

  private writing(): Thread<WriterThreadAsk> {
    const module = new URL('../threads/writer-thread.js', import.meta.url);
    this.writer ??= new Thread(module, { indexDir: this.options.indexDir }, (error) => {
      this.writer = undefined;
      this.options.onError(error);
    });
    return this.writer;
  }

  /** Takes up the last commit, after the reload that is under way. */
  private reload(): Promise<void> {
    this.reloading = this.reloading.catch(() => undefined).then(() => this.takeUp());
    return this.reloading;
  }

  /**
   * Opens the last commit and hands it to the threads. A writer may remove a commit's files while
   * they are opened, but only after the next commit: that one is tried then.
   */
  private async takeUp(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const stamp = this.stamp();
      try {
        const previous = this.snapshot;
        const next = Snapshot.open(openDirectory(this.options.indexDir), previous);
        this.snapshot = next;
        await this.pool.use(next.handle);
        previous?.close(next);
        this.seen = stamp;
        return;
      } catch (error) {
        if (this.stamp() === stamp || attempt === RELOAD_ATTEMPTS) {
          this.seen = stamp;
          throw error;
        }
      }
    }
  }

  /** Changes when the commit file is replaced. */
  private stamp(): string {
    const path = join(this.options.indexDir, COMMIT_FILE);
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : '';
  }
}
