import { closeSync, openSync } from 'node:fs';
import Database from 'libsql';
import { type BookRow, type BookTarget, type ColumnKind, quoted } from './book-rows.js';
import { libsqlKysely } from './libsql-dialect.js';
import { migrate } from './migrations.js';
import { MARKS_MIGRATION } from './postgres-marks.js';
import { sqliteTables } from './sqlite-source.js';
import { StoreUnusable } from './store.js';

/** A new file. @throws where it is there already. */
export function openSqliteTarget(file: string): Promise<BookTarget> {
  closeSync(openSync(file, 'wx', 0o600));
  const database = new Database(file);
  database.defaultSafeIntegers(true);
  database.exec('pragma synchronous = full');
  database.exec('begin immediate');
  return Promise.resolve({
    migrate: async (migrations) => {
      const ours = migrations.filter((one) => one !== MARKS_MIGRATION);
      await migrate(libsqlKysely(database), 'sqlite', ours);
    },
    tables: () => Promise.resolve(sqliteTables(database)),
    fill: ({ name, columns }, rows) => {
      const list = columns.map((column) => quoted(column.name)).join(', ');
      const marks = columns.map(() => '?').join(', ');
      const sql = `insert into ${quoted(name)} (${list}) values (${marks})`;
      const statement = database.prepare(sql);
      const valuesOf = (row: BookRow) =>
        columns.map(({ kind }, at) => valueOf(kind, row[at] ?? null));
      try {
        for (const row of rows) statement.run(valuesOf(row));
      } catch (error) {
        return Promise.reject(
          new StoreUnusable(`a row of ${name} breaks a rule of the schema: ${String(error)}`, {
            cause: error,
          }),
        );
      }
      return Promise.resolve();
    },
    finish: () => {
      const [broken] = database.prepare('pragma foreign_key_check').raw(true).all([]) as [string][];
      if (broken) {
        return Promise.reject(
          new StoreUnusable(`a row of ${broken[0]} refers to a row that is not there`),
        );
      }
      database.exec('commit');
      return Promise.resolve();
    },
    close: () => {
      database.close();
      return Promise.resolve();
    },
  });
}

function valueOf(kind: ColumnKind, text: string | null): unknown {
  if (text === null) return null;
  if (kind === 'bytes') return Buffer.from(text, 'base64');
  return kind === 'integer' ? BigInt(text) : text;
}
