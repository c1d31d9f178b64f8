import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import Database from 'libsql';
import type { Kysely } from 'kysely';
import { type BatchConnection, GroupCommit } from './group-commit.js';
import type { Clock } from '../domain/ports.js';
import { libsqlKysely } from './libsql-dialect.js';
import { type Lock, takeLock } from './lock.js';
import { migrate, type Migration } from './migrations.js';
import { Slices } from './slices.js';
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
  readonly clock: Pick<Clock, 'defer' | 'monotonicMs'>;
  /** Told once when a commit failed so that the process has to restart. */
  readonly onFailed: (error: unknown) => void;
  readonly limits?: StoreLimits;
  /** Refuses to open a file that another process has opened like this. */
  readonly exclusive?: boolean;
}

/** How long a statement waits for another process's lock, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;

/** @throws StoreUnusable when the file cannot be opened, is no database, or is visibly damaged. */
function connect(file: string): Database.Database {
  createPrivate(file);
  try {
    return configured(new Database(file));
  } catch (error) {
    throw unusableSqlite(file, error);
  }
}

/** Says in one sentence why a file cannot be used; an error that is not about that stays. */
export function unusableSqlite(file: string, error: unknown): unknown {
  if (DAMAGED.has(codeOf(error))) {
    const advice = 'put the last backup in its place, or name another file';
    return new StoreUnusable(`${file} is damaged, or no SQLite database: ${advice}`, {
      cause: error,
    });
  }
  const reason = INACCESSIBLE.get(codeOf(error));
  return reason === undefined
    ? error
    : new StoreUnusable(`${file} cannot be used: ${reason}`, { cause: error });
}

/**
 * SQLite makes a new file readable by everybody. An empty file of mode 0600 is a database to it, and
 * `-wal` and `-shm` get the mode of the database. A file that is there must not be opened here:
 * closing it would take away the locks that this process has on it (sqlite.org/howtocorrupt.html,
 * 2.2), and the next process to leave would delete the log under us.
 */
function createPrivate(file: string): void {
  if (file === ':memory:' || existsSync(file)) return;
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // Somebody else was first, or SQLite says in a moment what is wrong with the path.
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
function lockDatabase(file: string): Lock {
  createPrivate(`${file}.lock`);
  let lock: Lock | undefined;
  try {
    lock = takeLock(`${file}.lock`);
  } catch (error) {
    throw unusableSqlite(file, error);
  }
  if (lock) return lock;
  throw new StoreUnusable(`another gateway runs on ${file}: stop it first`);
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
function codeOf(error: unknown): number | undefined {
  if (error instanceof Database.SqliteError) return Number(error.rawCode) & 0xff;
  // What cannot even be opened is told without an error class: `ConnectionFailed("… FILE: 14")`.
  const [, code] = /ConnectionFailed\(".*: (\d+)"\)/.exec(String(error)) ?? [];
  return code === undefined ? undefined : Number(code) & 0xff;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED: ReadonlySet<number | undefined> = new Set([11, 26]);

/** Why a file cannot be opened: SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN. */
const INACCESSIBLE: ReadonlyMap<number | undefined, string> = new Map([
  [8, 'it may not be written'],
  [10, 'the disk fails'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened'],
]);

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

/** A file up to this size is read through in some seconds. */
const READ_THROUGH_BYTES_MAX = 1024 ** 3;

/**
 * Looks at a database that is there, whoever else uses it, and changes nothing. Of a large one it
 * reads the first page alone: `npm run backup` reads all.
 * @throws StoreUnusable with one sentence when it cannot be used.
 */
export function lookAtSqlite(file: string): void {
  let database: Database.Database | undefined;
  try {
    database = new Database(file);
    if (statSync(file).size > READ_THROUGH_BYTES_MAX) {
      pragma(database, 'schema_version');
      return;
    }
    const found = pragma(database, 'quick_check(1)');
    if (found === 'ok') return;
    throw new StoreUnusable(
      `${file} is damaged (${String(found)}): put the last backup in its place`,
    );
  } catch (error) {
    throw unusableSqlite(file, error);
  } finally {
    database?.close();
  }
}

/** Opens (or creates) a SQLite database, brings its schema up to date, and proves durability. */
export async function openSqlite(settings: SqliteSettings): Promise<Store> {
  const { file, migrations, clock, onFailed, limits = STORE_LIMITS } = settings;
  const defer = (task: () => void) => clock.defer(task);
  const isMemory = file === ':memory:';
  const lock = settings.exclusive && !isMemory ? lockDatabase(file) : undefined;
  const writing = connect(file);
  const group = new GroupCommit(batchConnection(writing), limits, defer, onFailed);
  const slices = isMemory ? undefined : new Slices(clock);
  const writer = libsqlKysely<unknown>(writing, () => slices?.pause());
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
      lock?.release();
    },
  };
}
