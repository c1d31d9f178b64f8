import { type BookRow, type BookTarget, type ColumnKind, quoted } from './book-rows.js';
import { migrate } from './migrations.js';
import { unusable } from './postgres-errors.js';
import { postgresKysely, Session, TYPES } from './postgres-session.js';
import { postgresTables } from './postgres-source.js';
import { StoreNotEmpty, StoreUnusable } from './store.js';

const START_MS = 5_000;

/** How each kind is read from text, in SQL. */
const FROM_TEXT: Readonly<Record<ColumnKind, (text: string) => string>> = {
  text: (text) => text,
  integer: (text) => `${text}::bigint`,
  bytes: (text) => `decode(${text}, 'base64')`,
  switch: (text) => `${text}::int::boolean`,
  time: (text) => `${text}::timestamptz`,
};

/** A database without tables. @throws StoreUnusable */
export async function openPostgresTarget(url: string): Promise<BookTarget> {
  const session = new Session({
    connectionString: url,
    types: TYPES,
    connectionTimeoutMillis: START_MS,
  });
  const ask = (text: string, values: readonly unknown[] = []) =>
    session.ask(text, values, Infinity);
  try {
    await session.connect();
    await ask('begin');
    if ((await postgresTables(ask)).length > 0) {
      throw new StoreNotEmpty('the database of DATABASE_URL has tables already: name an empty one');
    }
  } catch (error) {
    session.cut();
    throw unusable(error, url);
  }
  const db = postgresKysely({ ask });
  return {
    migrate: async (migrations) => {
      await migrate(db, 'postgres', migrations);
    },
    tables: () => postgresTables(ask),
    fill: async ({ name, columns }, rows) => {
      const list = columns.map((column) => quoted(column.name)).join(', ');
      const values = columns.map(({ kind }, at) => FROM_TEXT[kind](`c${at}`)).join(', ');
      const given = columns.map((_, at) => `$${at + 1}::text[]`).join(', ');
      const names = columns.map((_, at) => `c${at}`).join(', ');
      const sql = `insert into ${quoted(name)} (${list}) select ${values} from unnest(${given}) as r(${names})`;
      try {
        await ask(
          sql,
          columns.map((_, at) => rows.map((row: BookRow) => row[at] ?? null)),
        );
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new StoreUnusable(`a row of ${name} breaks a rule of the schema: ${reason}`, {
          cause: error,
        });
      }
    },
    finish: async () => {
      await ask('commit');
    },
    close: () => {
      session.cut();
      return Promise.resolve();
    },
  };
}
