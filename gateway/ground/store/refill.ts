import type { BookRow, BookTable } from './book-rows.js';
import { isPostgres } from './book-source.js';
import type { Migration } from './migrations.js';
import { MARKS_MIGRATION } from './postgres-marks.js';
import { openPostgresTarget } from './postgres-target.js';
import { openSqliteTarget } from './sqlite-target.js';
import { StoreUnusable } from './store.js';

/** Rows of one table, its columns in the order of the values. */
export interface BookPart {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly BookRow[];
}

export interface Refill {
  /** The migrations that the rows were written under. */
  readonly written: readonly string[];
  /** Those of this version. */
  readonly migrations: readonly Migration[];
  readonly parts: AsyncIterable<BookPart>;
}

/**
 * Fills an empty database with rows, and brings its schema up to date, all of it or nothing. Each
 * rule of the schema is checked on the way.
 *
 * @throws StoreUnusable when the database is not empty, the rows are a newer version's, or they
 *   break a rule.
 */
export async function refill(location: string, given: Refill): Promise<void> {
  const known = [MARKS_MIGRATION, ...given.migrations];
  const unknown = unknownMigrations(given.written, given.migrations);
  if (unknown.length > 0) {
    throw new StoreUnusable(`these books were written by a newer version (${unknown.join(', ')})`);
  }
  const target = await (isPostgres(location)
    ? openPostgresTarget(location)
    : openSqliteTarget(location));
  try {
    const written = new Set(given.written);
    const past = known.filter((one) => one === MARKS_MIGRATION || written.has(one.name));
    await target.migrate(past);
    const tables = new Map((await target.tables()).map((table) => [table.name, table]));
    for await (const { table, columns, rows } of given.parts) {
      await target.fill(sameShape(tables.get(table), table, columns), rows);
    }
    await target.migrate(known);
    await target.finish();
  } finally {
    await target.close();
  }
}

/** Migrations that this version does not have. */
export function unknownMigrations(
  written: readonly string[],
  migrations: readonly Migration[],
): readonly string[] {
  const names = new Set([MARKS_MIGRATION, ...migrations].map(({ name }) => name));
  return written.filter((name) => !names.has(name));
}

/** The table with its columns in the order in which the rows have them. */
function sameShape(
  table: BookTable | undefined,
  name: string,
  columns: readonly string[],
): BookTable {
  if (!table) throw new StoreUnusable(`this version has no table ${name}`);
  const ordered = columns.map((column) => table.columns.find((one) => one.name === column));
  const found = ordered.filter((one) => one !== undefined);
  if (found.length < columns.length || found.length < table.columns.length) {
    throw new StoreUnusable(`the table ${name} has other columns in this version`);
  }
  return { name, columns: found };
}
