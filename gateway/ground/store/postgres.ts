import { isNativeError } from 'node:util/types';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { migrate, type Migration } from './migrations.js';
import {
  type Store,
  type StoreHealth,
  STORE_LIMITS,
  type StoreLimits,
  StoreUnavailable,
  StoreUnusable,
  type UnavailableReason,
} from './store.js';

export interface PostgresSettings {
  /** `postgresql://user:password@host:port/database`. Never logged. */
  readonly url: string;
  readonly migrations: readonly Migration[];
  readonly sleep: (ms: number) => Promise<void>;
  /** Random bytes, for the back-off between attempts. */
  readonly random: (length: number) => Uint8Array;
  readonly limits?: StoreLimits;
  /** Connections at most. */
  readonly connectionsMax?: number;
}

/** Held by whoever migrates; any fixed number that no other program uses on this database. */
const MIGRATION_LOCK = 402_402_402;
/** Attempts of one write before its conflict is given back as `busy`. */
const ATTEMPTS_MAX = 40;
const BACKOFF_MS_MAX = 64;
const CONNECT_TIMEOUT_MS = 5000;

/** int2, int4 and int8 become `bigint`, as on SQLite; everything else stays as pg reads it. */
const { INT2, INT4, INT8 } = pg.types.builtins;
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format): ((text: string) => unknown) =>
    oid === INT2 || oid === INT4 || oid === INT8
      ? (text) => BigInt(text)
      : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

/** SQLSTATE of a PostgreSQL error (www.postgresql.org/docs/current/errcodes-appendix.html). */
function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** serialization_failure and deadlock_detected: the same work may succeed when run again. */
const isConflict = (error: unknown) => ['40001', '40P01'].includes(sqlState(error) ?? '');
/** disk_full. */
const isDiskFull = (error: unknown) => sqlState(error) === '53100';
/** Class 08 (connection exception), 57P0x (server going down or coming up), or a broken socket. */
const isUnreachable = (error: unknown) =>
  /^(08|57P0)/.test(sqlState(error) ?? '') ||
  (isNativeError(error) &&
    ('syscall' in error || /^Connection terminated|timeout exceeded when/.test(error.message)));

function unavailable(error: unknown): UnavailableReason | undefined {
  if (isDiskFull(error)) return 'disk-full';
  if (isUnreachable(error)) return 'unreachable';
  return undefined;
}

/** Connects, brings the schema up to date under a lock, and proves that commits are durable. */
export async function openPostgres(settings: PostgresSettings): Promise<Store> {
  const { url, migrations, sleep, random, limits = STORE_LIMITS, connectionsMax = 10 } = settings;
  const pool = new pg.Pool({
    connectionString: url,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    types,
  });
  // An idle connection that breaks is replaced at the next use; unheard, it would end the process.
  pool.on('error', () => undefined);
  // One that breaks under a query also says so by an event, beside failing the query: the same.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const counts = { queuedWrites: 0, writes: 0, commits: 0 };
  let isOpen = true;

  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(tx);
    await migrate(tx, 'postgres', migrations);
  });
  await assertDurable(db);

  /** Snapshot isolation: a row that changed since the snapshot is a conflict, never overwritten. */
  const attempt = <Tables, T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T> =>
    (db as Kysely<Tables>)
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute((tx) => work(tx));

  const write = async <Tables, T>(work: (tx: Kysely<Tables>) => Promise<T>): Promise<T> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt(work);
      } catch (error) {
        const reason = unavailable(error);
        if (reason) throw new StoreUnavailable(reason, { cause: error });
        if (!isConflict(error)) throw error;
        if (attempts >= ATTEMPTS_MAX) throw new StoreUnavailable('busy', { cause: error });
        const [byte = 0] = random(1);
        await sleep((Math.min(2 ** attempts, BACKOFF_MS_MAX) * (byte + 1)) / 256);
      }
    }
  };

  return {
    engine: 'postgres',
    isExclusive: false,
    write: async (work) => {
      if (!isOpen) throw new StoreUnavailable('closed');
      if (counts.queuedWrites >= limits.queuedWritesMax) throw new StoreUnavailable('busy');
      counts.queuedWrites += 1;
      try {
        const result = await write(work);
        counts.writes += 1;
        counts.commits += 1;
        return result;
      } finally {
        counts.queuedWrites -= 1;
      }
    },
    read: async (work) => {
      try {
        return await work(db as Parameters<typeof work>[0]);
      } catch (error) {
        const reason = unavailable(error);
        throw reason ? new StoreUnavailable(reason, { cause: error }) : error;
      }
    },
    health: (): StoreHealth => ({ ready: isOpen, ...counts }),
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await db.destroy();
    },
  };
}

async function assertDurable(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ value: string }>`
    select current_setting('synchronous_commit') as value`.execute(db);
  const value = rows[0]?.value;
  if (value === 'off')
    throw new StoreUnusable('synchronous_commit is off: a crash would lose payments');
}
