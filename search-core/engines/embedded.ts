import type { SearchRequest } from '../contract.js';
import type { Directory } from '../disk/directory.js';
import { Snapshot } from '../index/snapshot.js';
import { IndexWriter } from '../index/writer.js';
import type { Now } from '../query/budget.js';
import { Searcher } from '../query/searcher.js';
import type { Change, Engine, EngineStats, SearchLimits, SearchOutcome } from '../engine.js';

/** The embedded engine on the calling thread: for tests, tools and small indexes. */
export class EmbeddedEngine implements Engine {
  private writer: IndexWriter | undefined;
  private searcher: Searcher;

  constructor(
    private readonly directory: Directory,
    private readonly now: Now,
  ) {
    this.searcher = new Searcher(Snapshot.open(directory), now);
  }

  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> {
    return Promise.resolve(this.searcher.search(request, limits));
  }

  async apply(changes: readonly Change[]): Promise<void> {
    this.writer ??= new IndexWriter(this.directory);
    for (const change of changes) {
      if (change.put) await this.writer.put(change.put);
      else this.writer.delete(change.delete);
    }
  }

  async commit(): Promise<void> {
    this.writer ??= new IndexWriter(this.directory);
    await this.writer.commit();
    await this.writer.merge();
    this.reload();
  }

  stats(): Promise<EngineStats> {
    const { pages, commit } = this.searcher.snapshot;
    return Promise.resolve({ pages, generation: commit.generation });
  }

  async close(): Promise<void> {
    await this.writer?.close();
    this.searcher.snapshot.close();
  }

  /** Takes up the last commit. */
  private reload(): void {
    const { snapshot } = this.searcher;
    const next = Snapshot.open(this.directory, snapshot);
    this.searcher = new Searcher(next, this.now);
    snapshot.close(next);
  }
}
