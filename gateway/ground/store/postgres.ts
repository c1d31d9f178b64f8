import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { Clock, Random } from '../domain/ports.js';
import { migrate, type Migration } from './migrations.js';
import { isConflict, isDisconnected, unavailable, unusable } from './postgres-errors.js';
import {
  committing,
  DROP_OLD_MARKS,
  MARKS_MIGRATION,
  oldMarks,
  type Ticket,
  wasCommitted,
} from './postgres-marks.js';
import { type Borrowed, openPool, type Pool, type Serving } from './postgres-pool.js';
import { postgresKysely, Session, TYPES } from './postgres-session.js';
import {
  type Store,
  type StoreHealth,
  STORE_LIMITS,
  type StoreLimits,
  StoreUnavailable,
  StoreUnusable,
} from './store.js';

export interface PostgresSettings {
  /** `postgresql://user:password@host:port/database`. Never logged. */
  readonly url: string;
  readonly migrations: readonly Migration[];
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'sleep'>;
  /** For the back-off between attempts, and the names of connections. */
  readonly random: Pick<Random, 'bytes'>;
  readonly limits?: StoreLimits;
  /** Connections at most. */
  readonly connectionsMax?: number;
  /** Absent for commands. */
  readonly serving?: Serving;
}

/** Held by whoever migrates; any fixed number that no other program uses on this database. */
const MIGRATION_LOCK = 402_402_402;
/** Attempts of one write before its conflict is given back as `busy`. */
const ATTEMPTS_MAX = 40;
const BACKOFF_MS_MAX = 64;
/** Milliseconds for which the first ones wait when the server is away: a restart takes a second. */
const PATIENCE_MS = 2_000;
/** Milliseconds for which a write waits to hear whether its commit happened. */
const TRUTH_MS = 10_000;
/** Between two sweeps of the marks of connections that are long gone. */
const SWEEP_MS = 3_600_000;
/** Milliseconds for the first connection. */
const START_MS = 5_000;
/** Snapshot isolation: a row that changed since the snapshot is a conflict, never overwritten. */
const BEGIN = 'begin isolation level repeatable read';

type Work<T> = (tx: Kysely<unknown>) => Promise<T>;

/** The commit was sent, and nothing came back. */
class CommitUnanswered extends Error {
  constructor(
    readonly ticket: Ticket,
    /** What the write comes to, if it was committed. */
    readonly result: unknown,
    options: ErrorOptions,
  ) {
    super('the commit was not answered', options);
  }
}

/** Connects, brings the schema up to date under a lock, and proves that commits are durable. */
export async function openPostgres(settings: PostgresSettings): Promise<Store> {
  const { url, clock, random, limits = STORE_LIMITS, connectionsMax = 10, serving } = settings;
  await prepare(url, [MARKS_MIGRATION, ...settings.migrations]);
  const pool = openPool({ url, connectionsMax, clock, ...(serving && { serving }) });
  const counts = { queuedWrites: 0, writes: 0, commits: 0 };
  let isOpen = true;
  let sweptMs = clock.monotonicMs();

  const write = async <T>(work: Work<T>): Promise<T> => {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await attempt(pool, work, { clock, random });
      } catch (error) {
        if (error instanceof CommitUnanswered) {
          if (await isCommitted(pool, error, clock)) return error.result as T;
          continue;
        }
        const isLost = isDisconnected(error);
        if (!isConflict(error) && !isLost) throw unavailableError(error);
        if (attempts >= ATTEMPTS_MAX) {
          throw new StoreUnavailable(isLost ? 'unreachable' : 'busy', { cause: error });
        }
        // A connection that was lost before the commit has taken everything with it: once more.
        if (!isLost) await backOff(attempts, { clock, random });
      }
    }
  };

  const sweep = async () => {
    if (clock.monotonicMs() - sweptMs < SWEEP_MS) return;
    sweptMs = clock.monotonicMs();
    await asked(pool, (borrowed) => borrowed.ask(DROP_OLD_MARKS, oldMarks(clock.now())));
  };

  return {
    engine: 'postgres',
    isExclusive: false,
    write: async (work) => {
      if (!isOpen) throw new StoreUnavailable('closed');
      if (counts.queuedWrites >= limits.queuedWritesMax) throw new StoreUnavailable('busy');
      counts.queuedWrites += 1;
      try {
        const result = await write((tx) => work(tx as Parameters<typeof work>[0]));
        counts.writes += 1;
        counts.commits += 1;
        void sweep().catch(() => undefined);
        return result;
      } finally {
        counts.queuedWrites -= 1;
      }
    },
    read: async (work) => {
      if (!isOpen) throw new StoreUnavailable('closed');
      return work(readingKysely(pool) as Parameters<typeof work>[0]);
    },
    health: (): StoreHealth => {
      const problem = pool.problem();
      return { ready: isOpen && problem === undefined, ...(problem && { problem }), ...counts };
    },
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      await pool.close();
    },
  };
}

/** One attempt of one write, from its beginning to its commit. */
async function attempt<T>(
  pool: Pool,
  work: Work<T>,
  { clock, random }: Pick<PostgresSettings, 'clock' | 'random'>,
): Promise<T> {
  const borrowed = await pool.borrow(PATIENCE_MS);
  let fault: unknown;
  try {
    await borrowed.ask(BEGIN);
    const result = await work(borrowed.db);
    const ticket = borrowed.session.nextTicket(random);
    await borrowed.ask(committing(ticket, clock.now())).catch((error: unknown) => {
      if (isDisconnected(error)) throw new CommitUnanswered(ticket, result, { cause: error });
      throw error;
    });
    return result;
  } catch (error) {
    fault = error instanceof CommitUnanswered ? error.cause : error;
    if (!isDisconnected(fault))
      await borrowed.ask('rollback').catch((lost: unknown) => (fault = lost));
    throw error;
  } finally {
    borrowed.giveBack(fault);
  }
}

/**
 * Whether a commit that was not answered happened; if not, it never will.
 * @throws StoreUnavailable when the server does not come back in time to tell.
 */
async function isCommitted(
  pool: Pool,
  { ticket, cause }: CommitUnanswered,
  clock: PostgresSettings['clock'],
): Promise<boolean> {
  const endsMs = clock.monotonicMs() + TRUTH_MS;
  for (;;) {
    try {
      return await asked(pool, ({ ask }) => wasCommitted(ask, ticket, clock.now()), TRUTH_MS);
    } catch (error) {
      if (clock.monotonicMs() >= endsMs) throw new StoreUnavailable('unreachable', { cause });
      if (!(error instanceof StoreUnavailable) && !isConflict(error)) throw error;
      await clock.sleep(BACKOFF_MS_MAX);
    }
  }
}

/** Asks something that may be asked again: when a connection breaks under it, over another one. */
async function asked<T>(
  pool: Pool,
  question: (borrowed: Borrowed) => Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    const borrowed = await pool.borrow(patienceMs);
    let fault: unknown;
    try {
      return await question(borrowed);
    } catch (error) {
      fault = error;
      if (!isDisconnected(error) || attempts >= ATTEMPTS_MAX) throw unavailableError(error);
    } finally {
      borrowed.giveBack(fault);
    }
  }
}

/** Each statement alone, over whichever connection is free. */
function readingKysely(pool: Pool): Kysely<unknown> {
  return postgresKysely({
    ask: (text, values) => asked(pool, (borrowed) => borrowed.ask(text, values)),
  });
}

function unavailableError(error: unknown): unknown {
  if (error instanceof StoreUnavailable) return error;
  const reason = unavailable(error);
  return reason ? new StoreUnavailable(reason, { cause: error }) : error;
}

async function backOff(
  attempts: number,
  { clock, random }: Pick<PostgresSettings, 'clock' | 'random'>,
): Promise<void> {
  const [byte = 0] = random.bytes(1);
  await clock.sleep((Math.min(2 ** attempts, BACKOFF_MS_MAX) * (byte + 1)) / 256);
}

/** Brings the schema up to date, over a connection of its own and for as long as it takes. */
async function prepare(url: string, migrations: readonly Migration[]): Promise<void> {
  const session = new Session({
    connectionString: url,
    types: TYPES,
    connectionTimeoutMillis: START_MS,
  });
  const ask = (text: string, values: readonly unknown[] = []) =>
    session.ask(text, values, Infinity);
  try {
    await session.connect();
    // Not as of its beginning: who waited for the lock has to see what its holder has done.
    await ask('begin');
    await ask(`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    const db = postgresKysely({ ask });
    await migrate(db, 'postgres', migrations);
    await assertDurable(db);
    await ask('commit');
  } catch (error) {
    throw unusable(error, url);
  } finally {
    // What is not committed yet is undone.
    session.cut();
  }
}

async function assertDurable(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ value: string }>`
    select current_setting('synchronous_commit') as value`.execute(db);
  const value = rows[0]?.value;
  if (value === 'off')
    throw new StoreUnusable('synchronous_commit is off: a crash would lose payments');
}
