import type pg from 'pg';
import {
  type BookColumn,
  type BookRow,
  type BookSource,
  type BookTable,
  type ColumnKind,
  inOrderOfReferences,
  quoted,
} from './book-rows.js';
import { unusable } from './postgres-errors.js';
import { Session } from './postgres-session.js';

const START_MS = 5_000;
/** Rows that one question brings. */
const PAGE = 1000;

const KINDS: Readonly<Record<string, ColumnKind>> = {
  bigint: 'integer',
  text: 'text',
  bytea: 'bytes',
  boolean: 'switch',
  'timestamp with time zone': 'time',
};

/** How each kind becomes text, in SQL. */
const AS_TEXT: Readonly<Record<ColumnKind, (column: string) => string>> = {
  text: (column) => column,
  integer: (column) => `${column}::text`,
  bytes: (column) => `translate(encode(${column}, 'base64'), e'\\n', '')`,
  switch: (column) => `${column}::int::text`,
  time: (column) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
};

type Ask = (text: string) => Promise<pg.QueryResult>;

/** Reads in one transaction that sees the database as of its first question. */
export async function openPostgresSource(url: string): Promise<BookSource> {
  const session = new Session({
    connectionString: url,
    connectionTimeoutMillis: START_MS,
    types: { getTypeParser: () => (text: string) => text },
  });
  const ask: Ask = (text) => session.ask(text, [], Infinity);
  try {
    await session.connect();
    await ask('begin isolation level repeatable read read only');
    const migrations = await postgresMigrations(ask);
    const tables = await postgresTables(ask);
    return {
      engine: 'postgres',
      migrations,
      tables,
      rows: (table) => rowsOf(ask, table),
      close: () => {
        session.cut();
        return Promise.resolve();
      },
    };
  } catch (error) {
    session.cut();
    throw unusable(error, url);
  }
}

async function postgresMigrations(ask: Ask): Promise<readonly string[]> {
  const found = await ask(`select to_regclass('schema_migrations')::text as name`);
  const [row] = found.rows as { name: string | null }[];
  if (typeof row?.name !== 'string') return [];
  const { rows } = await ask('select name from schema_migrations order by name');
  return (rows as { name: string }[]).map(({ name }) => name);
}

/** The tables of the schema that the connection makes its own in. */
export async function postgresTables(ask: Ask): Promise<readonly BookTable[]> {
  const { rows } = await ask(
    `select table_name as "table", column_name as name, data_type as type
     from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = current_schema() and table_type = 'BASE TABLE'
     order by table_name, ordinal_position`,
  );
  const found = new Map<string, BookColumn[]>();
  for (const { table, name, type } of rows as Record<'table' | 'name' | 'type', string>[]) {
    const kind = KINDS[type];
    if (!kind) throw new Error(`${table}.${name} has the unknown type ${type}`);
    found.set(table, [...(found.get(table) ?? []), { name, kind }]);
  }
  const references = await ask(
    `select source.relname as "from", target.relname as "to" from pg_constraint
     join pg_class source on source.oid = conrelid join pg_class target on target.oid = confrelid
     where contype = 'f' and connamespace = current_schema()::regnamespace`,
  );
  const pairs = (references.rows as Record<'from' | 'to', string>[]).map(
    ({ from, to }) => [from, to] as const,
  );
  return inOrderOfReferences([...found.keys()], pairs).map((name) => ({
    name,
    columns: found.get(name) ?? [],
  }));
}

async function* rowsOf(ask: Ask, { name, columns }: BookTable): AsyncGenerator<BookRow> {
  const list = columns.map(
    (one) => `${AS_TEXT[one.kind](quoted(one.name))} as ${quoted(one.name)}`,
  );
  await ask(`declare rows no scroll cursor for select ${list.join(', ')} from ${quoted(name)}`);
  for (;;) {
    const { rows } = await ask(`fetch ${PAGE} from rows`);
    for (const row of rows as Record<string, string | null>[]) {
      yield columns.map((column) => row[column.name] ?? null);
    }
    if (rows.length < PAGE) break;
  }
  await ask('close rows');
}
