import Database from 'libsql';
import {
  type BookColumn,
  type BookRow,
  type BookSource,
  type BookTable,
  type ColumnKind,
  inOrderOfReferences,
  quoted,
} from './book-rows.js';
import { unusableSqlite } from './sqlite.js';

const KINDS: Readonly<Record<string, ColumnKind>> = {
  INTEGER: 'integer',
  TEXT: 'text',
  BLOB: 'bytes',
};

/** Reads in one transaction: in WAL mode that sees one moment, and nobody waits for it. */
export function openSqliteSource(file: string): Promise<BookSource> {
  try {
    const database = new Database(file);
    database.defaultSafeIntegers(true);
    database.exec('pragma busy_timeout = 5000');
    database.exec('pragma query_only = on');
    database.exec('begin');
    const tables = sqliteTables(database);
    return Promise.resolve({
      engine: 'sqlite',
      migrations: sqliteMigrations(database),
      tables,
      rows: (table) => rowsOf(database, table),
      close: () => {
        database.close();
        return Promise.resolve();
      },
    });
  } catch (error) {
    const told = unusableSqlite(file, error);
    return Promise.reject(told instanceof Error ? told : new Error(String(told)));
  }
}

export function sqliteTables(database: Database.Database): readonly BookTable[] {
  const names = texts(
    database,
    `select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`,
  );
  const references = names.flatMap((name) =>
    texts(database, `select "table" from pragma_foreign_key_list('${name}')`).map(
      (to) => [name, to] as const,
    ),
  );
  return inOrderOfReferences(names, references).map((name) => ({
    name,
    columns: columnsOf(database, name),
  }));
}

function sqliteMigrations(database: Database.Database): readonly string[] {
  const isThere = texts(
    database,
    `select name from sqlite_master where name = 'schema_migrations'`,
  );
  if (isThere.length === 0) return [];
  return texts(database, 'select name from schema_migrations order by rowid');
}

function texts(database: Database.Database, sql: string): readonly string[] {
  return (database.prepare(sql).raw(true).all([]) as [string][]).map(([text]) => text);
}

function columnsOf(database: Database.Database, table: string): readonly BookColumn[] {
  const sql = `select name, type from pragma_table_info('${table}') order by cid`;
  const rows = database.prepare(sql).raw(true).all([]) as [string, string][];
  return rows.map(([name, type]) => {
    const kind = KINDS[type.toUpperCase()];
    if (!kind) throw new Error(`${table}.${name} has the unknown type ${type}`);
    return { name, kind };
  });
}

// eslint-disable-next-line @typescript-eslint/require-await -- the other engine's rows come by and by
async function* rowsOf(
  database: Database.Database,
  { name, columns }: BookTable,
): AsyncGenerator<BookRow> {
  const list = columns.map((column) => quoted(column.name)).join(', ');
  const rows = database
    .prepare(`select ${list} from ${quoted(name)}`)
    .raw(true)
    .iterate([]);
  for (const row of rows as Iterable<unknown[]>) yield row.map(textOf);
}

function textOf(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  throw new Error(`a value of the type ${typeof value} is in the database`);
}
