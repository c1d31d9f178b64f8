import { StoreUnavailable, type StoreLimits, type UnavailableReason } from './store.js';

/** The transaction statements of one connection, so that the batching can be read without SQL. */
export interface BatchConnection {
  begin(): void;
  /** Marks where one write starts, so that it can be undone alone. */
  savepoint(): void;
  releaseSavepoint(): void;
  undoToSavepoint(): void;
  /** Returns once the batch is on the disk. */
  commit(): void;
  rollback(): void;
  /** False after an error that made the engine undo the whole transaction by itself. */
  inTransaction(): boolean;
  /** What an error of the engine means for the store; undefined when one statement was at fault. */
  classify(error: unknown): UnavailableReason | undefined;
}

interface QueuedWrite {
  run(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Answer = () => void;

/**
 * Group commit: the writes that wait together share one transaction and thereby one fsync. Each
 * runs behind its own savepoint, in order of arrival, and is answered after the commit.
 *
 * A lone write does not wait for company: the flush is deferred only behind the I/O that is
 * queued already, and whatever arrives while a commit runs forms the next batch.
 */
export class GroupCommit {
  readonly #queue: QueuedWrite[] = [];
  #flushing: Promise<void> | undefined;
  #batch: Promise<void> | undefined;
  #state: 'open' | 'closed' | 'failed' = 'open';
  #writes = 0;
  #commits = 0;

  constructor(
    private readonly connection: BatchConnection,
    private readonly limits: StoreLimits,
    private readonly defer: (task: () => void) => void,
    /** Told once when the store can never write again. */
    private readonly onFailed: (error: unknown) => void,
  ) {}

  get counts(): { queuedWrites: number; writes: number; commits: number } {
    return { queuedWrites: this.#queue.length, writes: this.#writes, commits: this.#commits };
  }

  get ready(): boolean {
    return this.#state === 'open';
  }

  /** The batch that is being written, if one is. */
  get batch(): Promise<void> | undefined {
    return this.#batch;
  }

  submit<T>(run: () => Promise<T>): Promise<T> {
    if (this.#state !== 'open') return Promise.reject(new StoreUnavailable(this.#state));
    if (this.#queue.length >= this.limits.queuedWritesMax) {
      return Promise.reject(new StoreUnavailable('busy'));
    }
    const result = new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, resolve, reject });
    });
    this.#flushing ??= this.#flush();
    return result;
  }

  /** Refuses new writes and resolves when the queued ones are answered. */
  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closed';
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.defer(resolve));
      const writes = this.#queue.splice(0, this.limits.batchWritesMax);
      this.#batch = this.#writeBatch(writes);
      await this.#batch;
      this.#batch = undefined;
    }
    this.#flushing = undefined;
  }

  async #writeBatch(writes: readonly QueuedWrite[]): Promise<void> {
    const answers: Answer[] = [];
    try {
      if (this.#state === 'failed') throw new StoreUnavailable('failed');
      this.connection.begin();
      for (const write of writes) answers.push(await this.#writeOne(write));
      this.connection.commit();
    } catch (error) {
      this.#abandon(error, writes);
      return;
    }
    this.#commits += 1;
    for (const answer of answers) answer();
  }

  /** Runs one write behind a savepoint; throws only when the whole batch is lost. */
  async #writeOne(write: QueuedWrite): Promise<Answer> {
    this.connection.savepoint();
    try {
      const value = await write.run();
      this.connection.releaseSavepoint();
      return () => {
        this.#writes += 1;
        write.resolve(value);
      };
    } catch (error) {
      if (!this.connection.inTransaction() || this.connection.classify(error)) throw error;
      this.connection.undoToSavepoint();
      return () => write.reject(error);
    }
  }

  #abandon(error: unknown, writes: readonly QueuedWrite[]): void {
    try {
      if (this.connection.inTransaction()) this.connection.rollback();
    } catch {
      // The engine undid it already, or the disk is gone; what follows says so.
    }
    const reason = this.connection.classify(error) ?? 'failed';
    if (reason === 'failed' && this.#state !== 'failed') {
      this.#state = 'failed';
      this.onFailed(error);
    }
    for (const write of writes) write.reject(new StoreUnavailable(reason, { cause: error }));
  }
}
