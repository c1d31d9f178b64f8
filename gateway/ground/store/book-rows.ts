import type { Migration } from './migrations.js';

/**
 * The rows of a database as text, the same for both engines: what one engine wrote, the other can
 * read. A value is a string or null: integers in decimal digits, bytes in base64, switches as 0 or
 * 1, times as ISO 8601.
 */
export type BookRow = readonly (string | null)[];

export type ColumnKind = 'text' | 'integer' | 'bytes' | 'switch' | 'time';

export interface BookColumn {
  readonly name: string;
  readonly kind: ColumnKind;
}

export interface BookTable {
  readonly name: string;
  readonly columns: readonly BookColumn[];
}

/**
 * All rows of a database as of one moment, while others go on writing to it. Nothing is changed, the
 * schema neither.
 */
export interface BookSource {
  readonly engine: 'sqlite' | 'postgres';
  /** The migrations that made its schema. */
  readonly migrations: readonly string[];
  /** Each behind those that it refers to. */
  readonly tables: readonly BookTable[];
  rows(table: BookTable): AsyncIterable<BookRow>;
  close(): Promise<void>;
}

/** An empty database that is being filled in one transaction. */
export interface BookTarget {
  migrate(migrations: readonly Migration[]): Promise<void>;
  tables(): Promise<readonly BookTable[]>;
  /** @throws StoreUnusable when a row breaks a rule of the schema. */
  fill(table: BookTable, rows: readonly BookRow[]): Promise<void>;
  /** Makes it all durable. @throws StoreUnusable when rows refer to rows that are not there. */
  finish(): Promise<void>;
  /** Undoes everything that was not finished, and lets go. */
  close(): Promise<void>;
}

/** Tables that say how a database was made, not what is in the books. */
const OWN_TABLES = new Set(['schema_migrations', 'store_marks']);

/**
 * The tables of the books, each behind those that it refers to: so they can be filled in this order.
 * @param references pairs of table names: the first refers to the second.
 */
export function inOrderOfReferences(
  names: readonly string[],
  references: readonly (readonly [string, string])[],
): readonly string[] {
  const ordered: string[] = [];
  let left = names.filter((name) => !OWN_TABLES.has(name)).sort();
  while (left.length > 0) {
    const isFree = (name: string) =>
      references.every(([from, to]) => from !== name || to === name || !left.includes(to));
    const free = left.filter(isFree);
    if (free.length === 0) throw new Error(`tables refer to each other: ${left.join(', ')}`);
    ordered.push(...free);
    left = left.filter((name) => !free.includes(name));
  }
  return ordered;
}

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
