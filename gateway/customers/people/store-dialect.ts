import {
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import type { Store } from '../../ground/store/store.js';

/**
 * Lets better-auth use the project's own database through the one door that there is: each of its
 * queries is one read or one durable write of the store. Integers come out as numbers, which is
 * what it compares them with.
 */
export function storeDialect(store: Store): Dialect {
  const isSqlite = store.engine === 'sqlite';
  return {
    createAdapter: () => (isSqlite ? new SqliteAdapter() : new PostgresAdapter()),
    createDriver: () => new StoreDriver(store),
    createIntrospector: (db) =>
      isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db),
    createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
  };
}

class StoreConnection implements DatabaseConnection {
  constructor(private readonly store: Store) {}

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const isRead = query.query.kind === 'SelectQueryNode';
    const result = isRead
      ? await this.store.read((db) => db.executeQuery(query))
      : await this.store.write((tx) => tx.executeQuery(query));
    return { ...result, rows: result.rows.map((row) => withNumbers(row as object) as R) };
  }

  streamQuery(): never {
    throw new Error('not supported: read page by page');
  }
}

class StoreDriver implements Driver {
  readonly #connection: StoreConnection;

  constructor(store: Store) {
    this.#connection = new StoreConnection(store);
  }

  init = () => Promise.resolve();
  acquireConnection = () => Promise.resolve(this.#connection);
  releaseConnection = () => Promise.resolve();
  destroy = () => Promise.resolve();
  beginTransaction = () => noTransactions();
  commitTransaction = () => noTransactions();
  rollbackTransaction = () => noTransactions();
}

function noTransactions(): Promise<never> {
  return Promise.reject(new Error('transactions belong to the store: use store.write'));
}

function withNumbers(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'bigint' ? Number(value) : value,
    ]),
  );
}
