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

  constructor(
    private readonly ports: CommitPorts,
    private readonly limits: CommitLimits = COMMIT_LIMITS,
  ) {
    ports.books.begin();
  }

  /** Resolves when the books may be written: not while a batch is on its way. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    while (this.flushing) await this.flushing;
  }

  /** Something was written to the books, maybe to the batch too. */
  note(): void {
    this.sinceMs ??= this.ports.nowMs();
  }

  get isEmpty(): boolean {
    return this.sinceMs === undefined;
  }

  async flushIfDue(): Promise<void> {
    if (this.sinceMs === undefined) return;
    const { waitMs, pages, length } = this.limits;
    const isFull = this.batch.size >= pages || this.batch.length >= length;
    if (isFull || this.ports.nowMs() - this.sinceMs >= waitMs) await this.flush();
  }

  /** Commits what there is: first the index, then the books. */
  flush(): Promise<void> {
    this.flushing ??= this.commit().finally(() => {
      this.flushing = undefined;
    });
    return this.flushing;
  }

  private async commit(): Promise<void> {
    const { books, sink, nowMs, onCommitted } = this.ports;
    if (this.sinceMs === undefined) return;
    if (this.batch.size > 0) {
      const { pages } = await this.intoIndex();
      noteStamp(books, sink.stamp);
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
export function lastStamp(books: Books): string | undefined {
  const row = books.one("SELECT value FROM notes WHERE name = 'stamp'");
  return row && String(row.value);
}

export function noteStamp(books: Books, stamp: string): void {
  books.run("INSERT OR REPLACE INTO notes (name, value) VALUES ('stamp', ?)", stamp);
}
