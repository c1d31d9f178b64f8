import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { lookAtPostgres } from '../../gateway/ground/store/postgres-report.js';
import { lookAtSqlite } from '../../gateway/ground/store/sqlite.js';
import type { Config } from '../../gateway/wiring/config.js';
import { bad, type Finding, good, reasonOf, warning } from './finding.js';

const TIMEOUT_MS = 5_000;

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

/** Whether mail can be handed over. */
export async function lookAtMail({ SMTP_URL: url }: Config): Promise<Finding> {
  if (url === undefined) {
    const said = 'SMTP_URL is not set: no mail is sent, so nobody can sign up.';
    return warning('smtp', said, 'Set SMTP_URL to your mail server.');
  }
  const transport = createTransport({
    url,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  });
  try {
    await transport.verify();
    return good('smtp', 'The mail server takes our mail.');
  } catch (error) {
    const cure = 'Check host, port, user and password in SMTP_URL.';
    return bad('smtp', `The mail server refuses us: ${reasonOf(error)}.`, cure);
  } finally {
    transport.close();
  }
}

/** Whether callers reach the service where quotes and mails send them. */
export async function lookAtPublicUrl({ PUBLIC_URL: url }: Config): Promise<readonly Finding[]> {
  if (url === undefined) return [];
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(new URL('/livez', url), { signal });
    if (response.ok) return [good('public', `${url} leads here, or to another gateway.`)];
    const said = `${url} answers ${response.status} to /livez.`;
    return [warning('public', said, 'Let the proxy in front pass everything on to PORT.')];
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    return [
      warning(
        'public',
        `${url} cannot be reached from here: ${reasonOf(cause)}.`,
        'Check its name (DNS), its certificate (TLS), and the proxy in front.',
      ),
    ];
  }
}
