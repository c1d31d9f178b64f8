import type { Kysely } from 'kysely';
import pg from 'pg';
import type { Clock } from '../domain/ports.js';
import { isCrowded, isDisconnected, unavailable } from './postgres-errors.js';
import { postgresKysely, Session, TYPES } from './postgres-session.js';
import { type Change, startWatch, type Watch } from './postgres-watch.js';
import { StoreUnavailable } from './store.js';

/** How a service stands on a server: what it waits for, and who hears of it. */
export interface Serving {
  /** Milliseconds for one statement. */
  readonly statementTimeoutMs: number;
  /** Milliseconds for which a statement waits for a lock of somebody else. */
  readonly lockTimeoutMs: number;
  /** Told when the server is lost and when it is back. */
  readonly onChange: (change: Change) => void;
}

export interface PoolSettings {
  /** `postgresql://user:password@host:port/database`. Never logged. */
  readonly url: string;
  readonly connectionsMax: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  /** Absent for commands: they wait for as long as it takes, and fail when the server is gone. */
  readonly serving?: Serving;
}

/** A connection that was borrowed: give it back once. */
export interface Borrowed {
  readonly session: Session;
  /** Kysely over this connection alone, without transactions of its own. */
  readonly db: Kysely<unknown>;
  readonly ask: (text: string, values?: readonly unknown[]) => Promise<pg.QueryResult>;
  /** @param error why it is of no use to anybody any more, if so. */
  readonly giveBack: (error?: unknown) => void;
}

export interface Pool {
  /**
   * @param patienceMs how long a server that is away is waited for.
   * @throws StoreUnavailable, `unreachable` or `busy`.
   */
  borrow(patienceMs: number): Promise<Borrowed>;
  /** Undefined while the server answers, else what is wrong. */
  problem(): string | undefined;
  close(): Promise<void>;
}

/** Milliseconds until a connection is there. */
const CONNECT_MS = 2_000;
/** Milliseconds that one waits for its turn on a connection. */
const TURN_MS = 10_000;
/** Milliseconds for a look at the server. */
const LOOK_MS = 1_000;
/** Milliseconds that a server gets beyond its own time-out for a statement. */
const GRACE_MS = 1_000;
const IDLE_MS = 60_000;
/** Between tries to get a connection, in milliseconds. */
const RETRY_MS = 50;

const ALWAYS_UP: Watch = {
  problem: undefined,
  generation: 0,
  suspect: () => undefined,
  isUp: () => Promise.resolve(true),
  stop: () => Promise.resolve(),
};

type Lent = pg.PoolClient & Session;

/** Connects nothing yet. */
export function openPool({ url, connectionsMax, clock, serving }: PoolSettings): Pool {
  const config: pg.ClientConfig = {
    connectionString: url,
    types: TYPES,
    keepAlive: true,
    application_name: 'search402',
    ...(serving && {
      statement_timeout: serving.statementTimeoutMs,
      lock_timeout: serving.lockTimeoutMs,
      // A gateway that is stopped in the middle must not keep its locks from the others.
      idle_in_transaction_session_timeout: serving.statementTimeoutMs,
    }),
  };
  const deadlineMs = serving ? serving.statementTimeoutMs + GRACE_MS : Infinity;
  const pool = new pg.Pool({
    ...config,
    Client: Session as unknown as new () => pg.ClientBase,
    max: connectionsMax,
    connectionTimeoutMillis: TURN_MS,
    idleTimeoutMillis: IDLE_MS,
  });
  // An idle connection that breaks is replaced at the next use.
  pool.on('error', () => {
    watch.suspect();
  });
  const known = new WeakMap<object, Pick<Borrowed, 'db' | 'ask'> & { generation: number }>();
  pool.on('connect', (client) => {
    const ask: Borrowed['ask'] = (text, values = []) =>
      (client as unknown as Session).ask(text, values, deadlineMs);
    known.set(client, { ask, db: postgresKysely({ ask }), generation: watch.generation });
  });
  const watching = serving && watchServer({ ...config, connectionTimeoutMillis: CONNECT_MS });
  const watch = watching
    ? startWatch({
        look: () => watching.look(() => pool.totalCount),
        sleep: (ms, signal) => clock.sleep(ms, signal),
        monotonicMs: () => clock.monotonicMs(),
        onChange: serving.onChange,
      })
    : ALWAYS_UP;

  const giveBack = (client: Lent, error: unknown) => {
    const isUseless = error !== undefined && isDisconnected(error);
    if (isUseless) {
      watch.suspect();
      client.cut();
    }
    client.release(isUseless);
  };

  return {
    borrow: async (patienceMs) => {
      const endsMs = clock.monotonicMs() + patienceMs;
      for (;;) {
        if (!(await watch.isUp(patienceMs))) throw new StoreUnavailable('unreachable');
        try {
          const client = (await pool.connect()) as unknown as Lent;
          const made = known.get(client);
          if (made?.generation === watch.generation) {
            const { db, ask } = made;
            return { session: client, db, ask, giveBack: (error) => giveBack(client, error) };
          }
          // It is from before the server was away; perhaps nobody is at its other end.
          client.cut();
          client.release(true);
        } catch (error) {
          const mayPass = isDisconnected(error) || isCrowded(error);
          if (isDisconnected(error)) watch.suspect();
          if (!mayPass || clock.monotonicMs() >= endsMs) {
            const reason = unavailable(error);
            throw reason ? new StoreUnavailable(reason, { cause: error }) : error;
          }
          await clock.sleep(RETRY_MS);
        }
      }
    },
    problem: () => watch.problem,
    close: async () => {
      await watch.stop();
      watching?.end();
      await pool.end();
    },
  };
}

/** Looks over a connection of its own, so that it neither waits for others nor is crowded out. */
function watchServer(config: pg.ClientConfig) {
  let session: Session | undefined;
  const connect = async () => {
    const fresh = new Session(config);
    try {
      await fresh.connect();
    } catch (error) {
      fresh.cut();
      throw error;
    }
    return fresh;
  };
  return {
    /** @param othersOf how many connections the others have. */
    look: async (othersOf: () => number): Promise<void> => {
      try {
        session ??= await connect();
        const { rows } = await session.ask('show transaction_read_only', [], LOOK_MS);
        const [row] = rows as { transaction_read_only: string }[];
        // So says a standby, and whoever was the first before a failover.
        if (row?.transaction_read_only !== 'off') throw new Error('the server takes no writes');
      } catch (error) {
        session?.cut();
        session = undefined;
        // It answers, and those who have a connection are served.
        if (isCrowded(error) && othersOf() > 0) return;
        throw error;
      }
    },
    end: () => {
      session?.cut();
    },
  };
}
