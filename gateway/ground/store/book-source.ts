import { existsSync } from 'node:fs';
import type { BookSource } from './book-rows.js';
import { openPostgresSource } from './postgres-source.js';
import { openSqliteSource } from './sqlite-source.js';
import { StoreUnusable } from './store.js';

export const isPostgres = (location: string) => /^postgres(ql)?:\/\//.test(location);

/**
 * @param location a SQLite file, or a `postgres://` URL.
 * @throws StoreUnusable when there are no books, or they cannot be read.
 */
export async function openBookSource(location: string): Promise<BookSource> {
  if (!isPostgres(location) && !existsSync(location)) {
    throw new StoreUnusable(
      `there are no books at ${location}: start the gateway once, or set DATA_DIR`,
    );
  }
  const source = await (isPostgres(location)
    ? openPostgresSource(location)
    : openSqliteSource(location));
  if (source.migrations.length > 0) return source;
  await source.close();
  throw new StoreUnusable('this database has no books: start the gateway once, or name another');
}
