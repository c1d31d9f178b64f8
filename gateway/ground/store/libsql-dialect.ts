import type Database from 'libsql';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';

type Row = Record<string, unknown>;

/** Prepared statements kept for reuse; queries are written in code, so there are few. */
const STATEMENTS_MAX = 512;

/** One libsql connection as Kysely sees it. Each query runs to its end within one call. */
class LibsqlConnection implements DatabaseConnection {
  readonly #statements = new Map<string, Database.Statement>();

  constructor(
    readonly database: Database.Database,
    /** Awaited before each query: lets a shared connection wait out a transaction of others. */
    readonly gate: () => Promise<void> | undefined,
  ) {}

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    for (let wait = this.gate(); wait; wait = this.gate()) await wait;
    const statement = this.#prepare(sql);
    if (statement.reader) {
      const rows = statement.all([...parameters]) as Row[];
      // No query here needs the count of changed rows beside the rows themselves.
      return { rows: rows.map(withBytes) as R[] };
    }
    const { changes } = statement.run([...parameters]);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  #prepare(sql: string): Database.Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    if (this.#statements.size >= STATEMENTS_MAX) this.#statements.clear();
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  streamQuery(): never {
    throw new Error('not supported: read page by page, so that no read holds the log open');
  }
}

/** libsql hands blobs over as ArrayBuffer, pg as a Uint8Array: the latter is the rule here. */
function withBytes(row: Row): Row {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value);
  }
  return row;
}

class LibsqlDriver implements Driver {
  readonly #connection: LibsqlConnection;

  constructor(connection: LibsqlConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {
    // The connection is open already.
  }

  acquireConnection(): Promise<DatabaseConnection> {
    return Promise.resolve(this.#connection);
  }

  beginTransaction(): Promise<void> {
    return Promise.reject(new Error('transactions belong to the store: use store.write'));
  }

  commitTransaction(): Promise<void> {
    return this.beginTransaction();
  }

  rollbackTransaction(): Promise<void> {
    return this.beginTransaction();
  }

  async releaseConnection(): Promise<void> {
    // One connection, never given back.
  }

  async destroy(): Promise<void> {
    // The store closes the connection.
  }
}

/** Kysely over one open libsql connection, without transactions of its own. */
export function libsqlKysely<Tables>(
  database: Database.Database,
  gate: () => Promise<void> | undefined = () => undefined,
): Kysely<Tables> {
  const dialect: Dialect = {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new LibsqlDriver(new LibsqlConnection(database, gate)),
    createIntrospector: (db: Kysely<unknown>) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
  return new Kysely<Tables>({ dialect });
}
