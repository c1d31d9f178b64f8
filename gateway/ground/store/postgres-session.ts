import { Socket } from 'node:net';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import pg from 'pg';
import type { Random } from '../domain/ports.js';
import type { Ticket } from './postgres-marks.js';

/** int2, int4 and int8 become `bigint`, as on SQLite; everything else stays as pg reads it. */
const { INT2, INT4, INT8 } = pg.types.builtins;
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid, format): ((text: string) => unknown) =>
    oid === INT2 || oid === INT4 || oid === INT8
      ? (text) => BigInt(text)
      : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};

const MARK_BYTES = 12;

/** Says that the connection was cut here; to a caller it is a connection that broke. */
const CUT = 'Connection terminated: no answer in time';

/**
 * One connection whose every question has a deadline. A server that is frozen, or behind a network
 * that swallows packets, says nothing, and no time-out of its own ever fires: then the connection is
 * cut from here.
 */
export class Session extends pg.Client {
  readonly #socket: Socket;
  #mark: string | undefined;
  #writes = 0;

  constructor(config: pg.ClientConfig) {
    const socket = new Socket();
    super({ ...config, stream: () => socket });
    this.#socket = socket;
    // A connection that breaks tells it to whoever asks next. Unheard, it would end the process.
    this.on('error', () => undefined);
  }

  /** What the next write of this connection leaves behind when it commits. */
  nextTicket(random: Pick<Random, 'bytes'>): Ticket {
    this.#mark ??= Buffer.from(random.bytes(MARK_BYTES)).toString('hex');
    this.#writes += 1;
    return { mark: this.#mark, number: this.#writes };
  }

  /** Ends the connection at once, without a word to the server. */
  cut(): void {
    this.#socket.destroy(new Error(CUT));
  }

  /**
   * Asks, and cuts the connection when there is no answer in time.
   * @param deadlineMs Infinity waits for as long as it takes.
   */
  async ask(text: string, values: readonly unknown[], deadlineMs: number) {
    const timer =
      deadlineMs === Infinity
        ? undefined
        : setTimeout(() => {
            this.cut();
          }, deadlineMs);
    try {
      // Several statements in one text are only taken without parameters.
      return await (values.length === 0 ? this.query(text) : this.query(text, [...values]));
    } finally {
      clearTimeout(timer);
    }
  }
}

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/** Where Kysely's queries go; transactions belong to the store. */
export interface QuestionPath {
  ask(text: string, values: readonly unknown[]): Promise<pg.QueryResult>;
}

function connectionOver(path: QuestionPath): DatabaseConnection {
  return {
    async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
      const { command, rowCount, rows } = await path.ask(sql, parameters);
      return {
        rows: rows as Row[],
        ...(COUNTED.has(command) && { numAffectedRows: BigInt(rowCount ?? 0) }),
      };
    },
    streamQuery: () => {
      throw new Error('not supported: read page by page');
    },
  };
}

/** Kysely over whatever answers, without transactions of its own. */
export function postgresKysely(path: QuestionPath): Kysely<unknown> {
  const connection = connectionOver(path);
  const refused = () => Promise.reject(new Error('transactions belong to the store'));
  const driver: Driver = {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    beginTransaction: refused,
    commitTransaction: refused,
    rollbackTransaction: refused,
    releaseConnection: () => Promise.resolve(),
    destroy: () => Promise.resolve(),
  };
  return new Kysely<unknown>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}
