import { mkdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SearchRequest } from '../contract.js';
import { openDirectory } from '../disk/filesystem.js';
import { COMMIT_FILE, filesOf } from '../index/commit.js';
import { Snapshot } from '../index/snapshot.js';
import type { WriterThreadAsk } from '../threads/messages.js';
import { SearchPool } from '../threads/search-pool.js';
import { Thread } from '../threads/thread.js';
import {
  type Change,
  type Engine,
  type EngineStats,
  type SearchLimits,
  type SearchOutcome,
  UnavailableError,
} from '../engine.js';

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
/** How often a commit is tried again that was not whole: a copy of it may be under way. */
const RETRY_MS = 1_000;

/**
 * The embedded engine over several threads. Each searches by itself; the index's memory is shared,
 * so it is there once. Commits, by this engine or by another process, are taken up while searches
 * run: a search sees one commit from beginning to end. A commit that is not whole, because a copy of
 * it is under way or its writer died, is left alone and tried again; the last whole one serves.
 */
export class ThreadedEngine implements Engine {
  private readonly pool: SearchPool;
  private readonly timer: NodeJS.Timeout;
  private snapshot: Snapshot | undefined;
  private writer: Thread<WriterThreadAsk> | undefined;
  private seen = '';
  /** Of the commit that serves. */
  private onDisk: Pick<EngineStats, 'bytes' | 'committedAt'> = {};
  private problem: string | undefined;
  private triedMs = 0;
  private reloading: Promise<void> = Promise.resolve();

  private constructor(private readonly options: ThreadedEngineOptions) {
    const { indexDir, threads, onError } = options;
    mkdirSync(indexDir, { recursive: true });
    this.pool = new SearchPool(threads ?? availableParallelism(), onError);
    this.timer = setInterval(() => {
      const isDue = performance.now() - this.triedMs >= RETRY_MS;
      if (this.stamp() !== this.seen || (this.problem !== undefined && isDue)) void this.follow();
    }, RELOAD_MS);
    this.timer.unref();
  }

  /** Opens the last commit, or waits for the first whole one: until then nothing is found. */
  static async open(options: ThreadedEngineOptions): Promise<ThreadedEngine> {
    const engine = new ThreadedEngine(options);
    await engine.follow();
    return engine;
  }

  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> {
    if (!this.snapshot) return Promise.reject(new UnavailableError('there is no whole index yet'));
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
      ...this.onDisk,
      ...(this.problem !== undefined && { problem: this.problem }),
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

  /** The same, and where that fails the last one stays; why is told once. */
  private async follow(): Promise<void> {
    try {
      await this.reload();
    } catch (error) {
      const { problem } = this;
      this.problem = `the last commit is not whole (${messageOf(error)})`;
      if (this.problem !== problem) this.options.onError(error);
    }
  }

  /**
   * Opens the last commit and hands it to the threads. A writer may remove a commit's files while
   * they are opened, but only after the next commit: that one is tried then.
   */
  private async takeUp(): Promise<void> {
    const previous = this.snapshot;
    const next = this.openLast(previous);
    this.snapshot = next;
    this.onDisk = this.lookAtFiles(next);
    await this.pool.use(next.handle);
    previous?.close(next);
    this.problem = undefined;
  }

  private openLast(previous: Snapshot | undefined): Snapshot {
    for (let attempt = 1; ; attempt++) {
      this.seen = this.stamp();
      this.triedMs = performance.now();
      try {
        return Snapshot.open(openDirectory(this.options.indexDir), previous);
      } catch (error) {
        if (this.stamp() === this.seen || attempt === RELOAD_ATTEMPTS) throw error;
      }
    }
  }

  /** Files that a later commit has removed meanwhile count nothing. */
  private lookAtFiles({ commit }: Snapshot): Pick<EngineStats, 'bytes' | 'committedAt'> {
    const stat = (name: string) =>
      statSync(join(this.options.indexDir, name), { throwIfNoEntry: false });
    const committed = stat(COMMIT_FILE);
    if (!committed) return {};
    const bytes = filesOf(commit).reduce((sum, name) => sum + (stat(name)?.size ?? 0), 0);
    return {
      bytes: bytes + committed.size,
      committedAt: Math.floor(committed.mtimeMs),
    };
  }

  /** Changes when the commit file is replaced. */
  private stamp(): string {
    const path = join(this.options.indexDir, COMMIT_FILE);
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : '';
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
