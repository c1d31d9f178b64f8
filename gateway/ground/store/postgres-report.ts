import { unusable } from './postgres-errors.js';
import { Session, TYPES } from './postgres-session.js';

/** What an operator should know of a PostgreSQL server. */
export interface PostgresReport {
  readonly version: string;
  readonly isReadOnly: boolean;
  readonly synchronousCommit: string;
  /** Connections that are open, and how many there may be. */
  readonly connections: number;
  readonly connectionsMax: number;
  readonly elapsedMs: number;
}

const TIMEOUT_MS = 5_000;

/** Asks and changes nothing. @throws StoreUnusable with one sentence when it cannot be used. */
export async function lookAtPostgres(url: string): Promise<PostgresReport> {
  const config = { connectionString: url, types: TYPES, connectionTimeoutMillis: TIMEOUT_MS };
  const session = new Session(config);
  try {
    await session.connect();
    const startedMs = performance.now();
    const { rows } = await session.ask(
      `select current_setting('server_version') as version,
        current_setting('transaction_read_only') as read_only,
        current_setting('synchronous_commit') as synchronous_commit,
        current_setting('max_connections')::int as connections_max,
        (select count(*) from pg_stat_activity where backend_type = 'client backend') as connections`,
      [],
      TIMEOUT_MS,
    );
    const elapsedMs = performance.now() - startedMs;
    const [row] = rows as Record<string, string | bigint>[];
    return {
      version: String(row?.version),
      isReadOnly: row?.read_only !== 'off',
      synchronousCommit: String(row?.synchronous_commit),
      // Without this one.
      connections: Number(row?.connections) - 1,
      connectionsMax: Number(row?.connections_max),
      elapsedMs,
    };
  } catch (error) {
    throw unusable(error, url);
  } finally {
    session.cut();
  }
}
