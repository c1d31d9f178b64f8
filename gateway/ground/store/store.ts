import type { Kysely } from 'kysely';
import { refuse, type Refusal } from '../domain/refusal.js';

/**
 * One door to the database, the same over SQLite and PostgreSQL.
 *
 * Every integer is read as a `bigint`, every blob as a `Uint8Array`, in both engines. Each room
 * types its own tables and names them on the parameter: `store.read((db: Kysely<MyTables>) => …)`.
 */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  /** True when no other process can use this database while this one lives. */
  readonly isExclusive: boolean;

  /**
   * Runs `work` in a transaction and resolves with its result once that is durable: nothing is
   * answered before the commit that carries it. When `work` throws, what it wrote is undone, its
   * neighbours are not, and the error comes back unchanged.
   *
   * `work` waits for nothing but `tx` (others wait behind it), has no effect outside the database
   * (PostgreSQL may run it again after a conflict), and never calls the store.
   *
   * @throws StoreUnavailable for each of its reasons. Nothing was written then, save that after
   *   `failed` and `unreachable` the commit may have happened unseen: look before writing again.
   */
  write<Tables, T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T>;

  /** Runs queries outside any transaction; each statement sees only committed facts. */
  read<Tables, T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;

  /** What operators watch. */
  health(): StoreHealth;

  /** Finishes the writes that are queued, refuses new ones, and closes every connection. */
  close(): Promise<void>;
}

export interface StoreHealth {
  /**
   * False while the database server does not answer, and for good once a commit failed in a way
   * that leaves the disk's state unknown.
   */
  readonly ready: boolean;
  /** Why it is not ready, where it is known. */
  readonly problem?: string;
  /** Writes that wait for their commit. */
  readonly queuedWrites: number;
  /** Writes that became durable since the start. */
  readonly writes: number;
  /** Commits since the start: on SQLite the number of fsyncs that writes have waited for. */
  readonly commits: number;
}

export type UnavailableReason =
  /** The bounded queue of writes is full: shed load and come back. */
  | 'busy'
  /** No room on the disk; nothing was written, and the store goes on once there is room. */
  | 'disk-full'
  /** A commit ended in an I/O error: what is durable is unknown, so the process has to restart. */
  | 'failed'
  /** The database server does not answer, or hung up during the write. */
  | 'unreachable'
  | 'closed';

/** The store could not take a write. The edge answers with `refusal`. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  readonly refusal: Refusal;

  constructor(
    readonly reason: UnavailableReason,
    options?: ErrorOptions,
  ) {
    super(`the store takes no writes: ${reason}`, options);
    this.refusal = refuse(
      'service_unavailable',
      'The service can’t record anything right now. Send the same request again shortly.',
      { retryAfterSeconds: reason === 'busy' ? 1 : 5 },
    );
  }
}

export interface StoreLimits {
  /** Writes that may wait; the next one is refused with `busy`. */
  readonly queuedWritesMax: number;
  /** Writes that share one commit at most. */
  readonly batchWritesMax: number;
}

export const STORE_LIMITS: StoreLimits = { queuedWritesMax: 4096, batchWritesMax: 256 };

/** The database cannot be used as it is; the message tells the operator why and what to do. */
export class StoreUnusable extends Error {
  override readonly name = 'StoreUnusable';
}

/** The database that was to be filled holds something already. */
export class StoreNotEmpty extends StoreUnusable {}
