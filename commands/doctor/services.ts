import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lookAtPostgres } from '../../gateway/ground/store/postgres-report.js';
import { lookAtSqlite } from '../../gateway/ground/store/sqlite.js';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

/** The database: it answers, a commit lasts, and there is room for this gateway's connections. */
export async function lookAtDatabase(config: Config): Promise<readonly Finding[]> {
  const { DATABASE_URL: url, DATABASE_CONNECTIONS: wanted, DATA_DIR } = config;
  if (url === undefined) return [lookAtBooks(join(DATA_DIR, 'search402.db'))];
  let told;
  try {
    told = await lookAtPostgres(url);
  } catch (error) {
    return [bad('database', reasonOf(error), 'Mend that, then run this again.')];
  }
  const findings: Finding[] = [];
  if (told.isReadOnly) {
    const cure = 'Let DATABASE_URL lead to the first server: this is a standby, or set read-only.';
    findings.push(bad('database.writes', 'PostgreSQL takes no writes.', cure));
  }
  if (told.synchronousCommit === 'off') {
    const cure = 'Set synchronous_commit to on for this database.';
    const said = 'synchronous_commit is off: a crash would lose payments.';
    findings.push(bad('database.durable', said, cure));
  }
  // One more than the pool has: the gateway watches the server over a connection of its own.
  const free = told.connectionsMax - told.connections;
  if (free < wanted + 1) {
    findings.push(
      warning(
        'database.connections',
        `PostgreSQL has ${free} of ${told.connectionsMax} connections free; a gateway may use ${wanted + 1}.`,
        'Raise max_connections, or lower DATABASE_CONNECTIONS.',
      ),
    );
  }
  if (findings.length > 0) return findings;
  return [
    good('database', `PostgreSQL ${told.version} answers in ${Math.round(told.elapsedMs)} ms.`),
  ];
}

function lookAtBooks(location: string): Finding {
  if (!existsSync(location)) {
    return good('database', 'There is no database yet: it is made at the first start.');
  }
  try {
    lookAtSqlite(location);
    return good('database', `SQLite at ${location} can be used.`);
  } catch (error) {
    return bad('database', `${reasonOf(error)}.`, 'Do what it says, then run this again.');
  }
}
