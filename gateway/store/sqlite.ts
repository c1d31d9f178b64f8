import Database from 'libsql';
import type { Kysely } from 'kysely';
import { type BatchConnection, GroupCommit } from './group-commit.js';
import { libsqlKysely } from './libsql-dialect.js';
import { migrate, type Migration } from './migrations.js';
import {
  type Store,
  type StoreHealth,
  STORE_LIMITS,
  StoreUnusable,
  type StoreLimits,
  type UnavailableReason,
} from './store.js';

export interface SqliteSettings {
  /** A file path, or `:memory:` for tests. */
  readonly file: string;
  /** All rooms' migrations, in the order in which they run. */
  readonly migrations: readonly Migration[];
  readonly defer: (task: () => void) => void;
  /** Told once when a commit failed so that the process has to restart. */
  readonly onFailed: (error: unknown) => void;
  readonly limits?: StoreLimits;
  /** Refuses to open a file that another process has opened like this. */
  readonly exclusive?: boolean;
}

/** How long a statement waits for another process's lock, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;

/** @throws StoreUnusable when the file is no database, or damaged so that it shows at once. */
function connect(file: string): Database.Database {
  try {
    return configured(new Database(file));
  } catch (error) {
    if (!DAMAGED.has(codeOf(error))) throw error;
    const advice = 'put the last backup in its place, or name another file';
    throw new StoreUnusable(`${file} is damaged, or no SQLite database: ${advice}`, {
      cause: error,
    });
  }
}

function configured(database: Database.Database): Database.Database {
  database.defaultSafeIntegers(true);
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  database.exec('pragma foreign_keys = on');
  return database;
}

/**
 * Holds a lock beside the database for as long as the process lives; the system gives it back
 * even after a kill. The database itself stays readable for others.
 * @throws StoreUnusable when another process holds it.
 */
function lockFile(file: string): Database.Database {
  const lock = new Database(`${file}.lock`);
  try {
    lock.exec('pragma locking_mode = exclusive');
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock.close();
    throw new StoreUnusable(`another gateway runs on ${file}: stop it first`, { cause: error });
  }
}

function pragma(database: Database.Database, name: string): unknown {
  const [row] = database.prepare(`pragma ${name}`).all([]) as Record<string, unknown>[];
  return Object.values(row ?? {})[0];
}

/**
 * Refuses a connection on which a commit would not be durable. Some drivers fall back to
 * `synchronous=NORMAL` after the first write in WAL mode, so this runs after one.
 */
function assertDurable(database: Database.Database, file: string): void {
  const synchronous = pragma(database, 'synchronous');
  if (synchronous !== 2n) throw new Error(`synchronous is ${String(synchronous)}, not FULL (2)`);
  const journal = pragma(database, 'journal_mode');
  const expected = file === ':memory:' ? 'memory' : 'wal';
  if (journal !== expected) throw new Error(`journal_mode is ${String(journal)}, not ${expected}`);
  if (pragma(database, 'foreign_keys') !== 1n) throw new Error('foreign_keys is off');
}

function batchConnection(database: Database.Database): BatchConnection {
  return {
    begin: () => database.exec('begin immediate'),
    savepoint: () => database.exec('savepoint one'),
    releaseSavepoint: () => database.exec('release one'),
    undoToSavepoint: () => database.exec('rollback to one; release one'),
    commit: () => database.exec('commit'),
    rollback: () => database.exec('rollback'),
    inTransaction: () => database.inTransaction,
    classify: classifySqliteError,
  };
}

/** SQLite's primary result code (the low byte of the extended one), www.sqlite.org/rescode.html. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Database.SqliteError ? Number(error.rawCode) & 0xff : undefined;

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<number | undefined> = new Set([11, 26]);

function classifySqliteError(error: unknown): UnavailableReason | undefined {
  switch (codeOf(error)) {
    case 5: // SQLITE_BUSY: another process kept its lock beyond the timeout
      return 'busy';
    case 13: // SQLITE_FULL
      return 'disk-full';
    case 8: // SQLITE_READONLY
    case 10: // SQLITE_IOERR
    case 11: // SQLITE_CORRUPT
    case 14: // SQLITE_CANTOPEN
    case 26: // SQLITE_NOTADB
      return 'failed';
    default:
      return undefined;
  }
}

/** Opens (or creates) a SQLite database, brings its schema up to date, and proves durability. */
export async function openSqlite(settings: SqliteSettings): Promise<Store> {
  const { file, migrations, defer, onFailed, limits = STORE_LIMITS } = settings;
  const isMemory = file === ':memory:';
  const lock = settings.exclusive && !isMemory ? lockFile(file) : undefined;
  const writing = connect(file);
  const group = new GroupCommit(batchConnection(writing), limits, defer, onFailed);
  const writer = libsqlKysely<unknown>(writing);
  const write = <Tables, T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T> =>
    group.submit(() => work(writer as Kysely<Tables>));

  await write((tx) => migrate(tx, 'sqlite', migrations));
  assertDurable(writing, file);

  // A second connection sees committed facts only. A database in memory has just the one, so its
  // reads wait until the batch that is being written has ended.
  const reading = isMemory ? writing : connect(file);
  const reader = libsqlKysely<unknown>(reading, isMemory ? () => group.batch : undefined);

  return {
    engine: 'sqlite',
    isExclusive: isMemory || lock !== undefined,
    write,
    read: (work) => work(reader as Parameters<typeof work>[0]),
    health: (): StoreHealth => ({ ready: group.ready, ...group.counts }),
    close: async () => {
      await group.close();
      for (const database of new Set([reading, writing])) if (database.open) database.close();
      if (lock?.open) lock.close();
    },
  };
}
