/**
 * How pages get into the index: many in one commit. The books are one transaction for each batch,
 * which is committed only when the index is. A kill between the two means that a few pages are
 * looked at once more.
 */
import { LockedError } from '../../disk/lock.js';
import { readBlocklist } from '../blocked/blocklist.js';
import { withoutBlocked } from '../blocked/guarded-sink.js';
import { Batch } from './batch.js';
import type { Books } from './books.js';
import type { LivingSink } from './living-sink.js';

export interface CommitPorts {
  readonly books: Books;
  readonly sink: LivingSink;
  readonly blocklistFile: string;
  readonly nowMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
  /** Done in the books' transaction just before it is committed. */
  readonly beforeCommit: () => void;
  /** Told how many pages the index holds, and how long the oldest change waited, milliseconds. */
  readonly onCommitted: (facts: { readonly pages: number; readonly waitedMs: number }) => void;
}

export interface CommitLimits {
  /** Milliseconds that a change may wait. */
  readonly waitMs: number;
  readonly pages: number;
  /** UTF-16 code units of text. */
  readonly length: number;
}

export const COMMIT_LIMITS: CommitLimits = { waitMs: 3_000, pages: 10_000, length: 32_000_000 };
const LOCKED_WAIT_MS = 500;

export class Commits {
  batch = new Batch();
  private sinceMs: number | undefined;
  private flushing: Promise<void> | undefined;
  private failure: Error | undefined;

  constructor(
    private readonly ports: CommitPorts,
    private readonly limits: CommitLimits = COMMIT_LIMITS,
  ) {
    ports.books.begin();
  }

  /** Resolves when the books may be written: not while a batch is on its way. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.flushing || this.isFull) await (this.flushing ?? this.flush());
    if (this.failure) throw this.failure;
  }

  /** Something was written to the books, maybe to the batch too. */
  note(): void {
    this.sinceMs ??= this.ports.nowMs();
  }

  get isEmpty(): boolean {
    return this.sinceMs === undefined;
  }

  async flushIfDue(): Promise<void> {
    if (this.failure) throw this.failure;
    if (this.sinceMs === undefined) return;
    const isTime = this.ports.nowMs() - this.sinceMs >= this.limits.waitMs;
    if (isTime || this.isFull) await this.flush();
  }

  private get isFull(): boolean {
    return this.batch.size >= this.limits.pages || this.batch.length >= this.limits.length;
  }

  /** Commits what there is: first the index, then the books. @throws for good once it failed */
  flush(): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    this.flushing ??= this.commit()
      .catch((reason: unknown) => {
        this.failure = reason instanceof Error ? reason : new Error(String(reason));
        throw this.failure;
      })
      .finally(() => {
        this.flushing = undefined;
      });
    return this.flushing;
  }

  /** Whether nothing can be committed any more. */
  get hasFailed(): boolean {
    return this.failure !== undefined;
  }

  private async commit(): Promise<void> {
    const { books, sink, nowMs, onCommitted } = this.ports;
    if (this.sinceMs === undefined) return;
    if (this.batch.size > 0) {
      const { pages } = await this.intoIndex();
      noteStamp(books, sink.stamp);
      note(books, 'pages', String(pages));
      onCommitted({ pages, waitedMs: nowMs() - this.sinceMs });
    }
    this.ports.beforeCommit();
    books.commit();
    books.begin();
    this.batch = new Batch();
    this.sinceMs = undefined;
  }

  /** Waits while another command writes the index. */
  private async intoIndex(): Promise<{ readonly pages: number }> {
    const { sink, sleep, signal } = this.ports;
    for (;;) {
      try {
        const { pages, gone } = this.batch.changes();
        const allowed = withoutBlocked(pages, () => readBlocklist(this.ports.blocklistFile));
        return await sink.update(allowed, gone);
      } catch (error) {
        if (!(error instanceof LockedError) || signal.aborted) throw error;
        await sleep(LOCKED_WAIT_MS, signal);
      }
    }
  }
}

/** The index's stamp after the last commit of any run. */
export const lastStamp = (books: Books): string | undefined => noted(books, 'stamp');

/** The pages that the index held after the last commit of any run. */
export const lastPages = (books: Books): number => Number(noted(books, 'pages') ?? 0);

export const noteStamp = (books: Books, stamp: string): void => note(books, 'stamp', stamp);

function note(books: Books, name: string, value: string): void {
  books.run('INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)', name, value);
}

function noted(books: Books, name: string): string | undefined {
  const row = books.one('SELECT value FROM notes WHERE name = ?', name);
  return row && String(row.value);
}
