import Database from 'libsql';
import type { Kysely } from 'kysely';
import { MIGRATIONS } from '../../gateway/wiring/migrations.js';
import { GroupCommit, type BatchConnection } from '../../gateway/ground/store/group-commit.js';
import { libsqlKysely } from '../../gateway/ground/store/libsql-dialect.js';
import { migrate } from '../../gateway/ground/store/migrations.js';
import {
  STORE_LIMITS,
  type Store,
  type StoreHealth,
  type UnavailableReason,
} from '../../gateway/ground/store/store.js';
import { never, type SimProcess } from './process.js';

/** What becomes of one commit. */
export type CommitFate =
  | 'kept'
  /** The process dies before the disk has it. */
  | 'crash-before'
  /** The process dies when the disk has it and nobody was answered. */
  | 'crash-after'
  /** No room: nothing is written, the process goes on. */
  | 'full'
  /** An I/O error, and the disk has it, or has it not. */
  | 'failed-kept'
  | 'failed-lost';

class DiskError extends Error {
  constructor(readonly reason: UnavailableReason) {
    super(`simulated disk: ${reason}`);
  }
}

/**
 * The disk of a world: one SQLite database in memory that outlives the processes which open it.
 * Statements, transactions and the group commit are the gateway's own; only what becomes of a commit
 * is decided here.
 */
export class Disk {
  readonly #database: Database.Database;
  readonly #tables: Kysely<unknown>;
  readonly #names: readonly string[];
  /** Set for each world. */
  fateOf: (process: SimProcess) => CommitFate = () => 'kept';
  /** Whether several processes have the database open at the same time. */
  isShared = false;

  private constructor(database: Database.Database, tables: Kysely<unknown>) {
    this.#database = database;
    this.#tables = tables;
    const rows = database
      .prepare(
        `select name from sqlite_master where type = 'table' and name <> 'schema_migrations'`,
      )
      .all([]) as { name: string }[];
    this.#names = rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_'));
  }

  /** Makes the schema once, with a change to it; `wipe` empties it again for the next world. */
  static async make(change?: string): Promise<Disk> {
    const database = new Database(':memory:');
    database.defaultSafeIntegers(true);
    database.exec('pragma foreign_keys = on');
    const tables = libsqlKysely<unknown>(database);
    await migrate(tables, 'sqlite', MIGRATIONS);
    const disk = new Disk(database, tables);
    database.exec(HISTORY);
    if (change !== undefined) database.exec(change);
    return disk;
  }

  wipe(): void {
    const statements = this.#names.map((name) => `delete from ${name};`).join('');
    this.#database.exec(
      `pragma foreign_keys = off; ${statements} delete from history; pragma foreign_keys = on;`,
    );
    this.fateOf = () => 'kept';
    this.isShared = false;
  }

  /** Rows as the disk has them, for the checks. */
  query(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all([]) as Record<string, unknown>[];
  }

  /** The database as one process has it open. */
  mount(process: SimProcess, onFailed: () => void): Store {
    const database = this.#database;
    const connection: BatchConnection = {
      begin: () => database.exec('begin immediate'),
      savepoint: () => database.exec('savepoint one'),
      releaseSavepoint: () => database.exec('release one'),
      undoToSavepoint: () => database.exec('rollback to one; release one'),
      commit: () => this.#commit(process),
      rollback: () => database.exec('rollback'),
      inTransaction: () => database.inTransaction,
      classify: (error) => (error instanceof DiskError ? error.reason : undefined),
    };
    const { defer } = process.clock;
    const group = new GroupCommit(connection, STORE_LIMITS, defer, onFailed);
    return {
      engine: 'sqlite',
      isExclusive: !this.isShared,
      write: <Tables, T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T> =>
        process.isAlive ? group.submit(() => work(this.#tables as Kysely<Tables>)) : never<T>(),
      read: <Tables, T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> => {
        if (!process.isAlive) return never<T>();
        if (database.inTransaction) throw new Error('a read came into the middle of a batch');
        return work(this.#tables as Kysely<Tables>);
      },
      health: (): StoreHealth => ({ ready: group.ready, ...group.counts }),
      close: () => group.close(),
    };
  }

  #commit(process: SimProcess): void {
    switch (this.fateOf(process)) {
      case 'kept':
        this.#database.exec('commit');
        return;
      case 'crash-before':
        // What the dead believe does not matter: nothing that they do has an effect any more.
        this.#database.exec('rollback');
        process.kill();
        return;
      case 'crash-after':
        this.#database.exec('commit');
        process.kill();
        return;
      case 'full':
        throw new DiskError('disk-full');
      case 'failed-kept':
        this.#database.exec('commit');
        throw new DiskError('failed');
      case 'failed-lost':
        throw new DiskError('failed');
    }
  }
}

const FACTS = [
  'reserved_at',
  'served_at',
  'signed_at',
  'broadcast_at',
  'preconfirmed_at',
  'settled_at',
  'final_at',
  'reorged_at',
  'released_at',
  'failed_at',
] as const;

/** Every state that every payment was ever in, written down by the database itself. */
const HISTORY = `
  create temp table history (step integer primary key, id text, transaction_hash text,
    ${FACTS.join(', ')});
  create temp trigger history_insert after insert on payments begin
    insert into history (id, transaction_hash, ${FACTS.join(', ')})
    values (new.id, new.transaction_hash, ${FACTS.map((fact) => `new.${fact}`).join(', ')}); end;
  create temp trigger history_update after update on payments begin
    insert into history (id, transaction_hash, ${FACTS.join(', ')})
    values (new.id, new.transaction_hash, ${FACTS.map((fact) => `new.${fact}`).join(', ')}); end;`;
