import { type Kysely, sql } from 'kysely';
import { StoreUnusable } from './store.js';

/** The words in which the two engines differ; everything else of the schema is common SQL. */
export interface SqlWords {
  readonly engine: 'sqlite' | 'postgres';
  /** A 64-bit signed integer; read back as `bigint`. */
  readonly int: string;
  /** A byte string; read back as `Uint8Array`. */
  readonly bytes: string;
  /** Ends `CREATE TABLE (…)`: makes SQLite as strict about types as PostgreSQL is. */
  readonly strict: string;
}

const SQLITE_WORDS: SqlWords = {
  engine: 'sqlite',
  int: 'integer',
  bytes: 'blob',
  strict: 'strict',
};
const POSTGRES_WORDS: SqlWords = { engine: 'postgres', int: 'bigint', bytes: 'bytea', strict: '' };

/** One step of the schema, forward only. Never change one that was released: add another. */
export interface Migration {
  /** Unique and lasting, `room-number-what`: `ledger-001-payments`. */
  readonly name: string;
  /**
   * True where the version before goes on working with the schema as it is afterwards: new tables,
   * and new columns that it may leave out. That version can then be started again, or still run
   * beside this one. Absent: it refuses the database by name.
   */
  readonly isTolerated?: boolean;
  /** Its statements, in order, for the given engine. */
  statements(words: SqlWords): readonly string[];
}

interface MigrationTables {
  schema_migrations: { name: string };
  schema_tolerated: { name: string };
}

const HISTORY = `create table if not exists schema_migrations (
  -- The migration that ran, so that it runs once.
  name text not null primary key
)`;

/** Told to the version before, which cannot know them otherwise. */
const TOLERATED = `create table if not exists schema_tolerated (
  -- A migration that the version before can work with.
  name text not null primary key
)`;

/**
 * Brings the schema up to date inside the caller's transaction, which also holds the lock that
 * keeps a second process out. Returns the names of what ran.
 *
 * @throws StoreUnusable when the database was written by a newer build, whose schema this one
 *   cannot work with.
 */
export async function migrate(
  tx: Kysely<MigrationTables>,
  engine: SqlWords['engine'],
  migrations: readonly Migration[],
): Promise<readonly string[]> {
  const words = engine === 'sqlite' ? SQLITE_WORDS : POSTGRES_WORDS;
  const names = new Set(migrations.map((migration) => migration.name));
  if (names.size !== migrations.length) throw new Error('two migrations bear the same name');
  await sql.raw(HISTORY).execute(tx);
  await sql.raw(TOLERATED).execute(tx);
  const rows = await tx.selectFrom('schema_migrations').select('name').execute();
  const applied = new Set(rows.map((row) => row.name));
  const told = await tx.selectFrom('schema_tolerated').select('name').execute();
  const tolerated = new Set(told.map((row) => row.name));
  const unknown = [...applied].filter((name) => !names.has(name) && !tolerated.has(name));
  if (unknown.length > 0) {
    throw new StoreUnusable(
      `this database was written by a newer version (it has ${unknown.join(', ')}): start that one, ` +
        'or put back the backup that was made before it (npm run restore)',
    );
  }
  const pending = migrations.filter((migration) => !applied.has(migration.name));
  for (const migration of pending) {
    for (const statement of migration.statements(words)) await sql.raw(statement).execute(tx);
    const { name } = migration;
    await tx.insertInto('schema_migrations').values({ name }).execute();
    if (migration.isTolerated === true) {
      await tx.insertInto('schema_tolerated').values({ name }).execute();
    }
  }
  return pending.map((migration) => migration.name);
}
