import { startPostgres, type TestPostgres } from './postgres.js';

/** The databases on which the same guarantees hold. */
export const ENGINES = ['SQLite', 'PostgreSQL'] as const;
export type Engine = (typeof ENGINES)[number];

/** Where tests of an engine keep their tables: call `start` once before them and `stop` after. */
export function engineOf(engine: Engine) {
  let server: TestPostgres | undefined;
  return {
    start: async () => {
      if (engine === 'PostgreSQL') server = await startPostgres();
    },
    /** A database of its own for each opening on SQLite, one that is shared on PostgreSQL. */
    location: () => server?.url ?? ':memory:',
    stop: async () => server?.stop(),
  };
}
