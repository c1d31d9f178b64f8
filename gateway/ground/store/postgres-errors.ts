import { isNativeError } from 'node:util/types';
import pg from 'pg';
import { systemReason } from '../domain/start-error.js';
import { StoreUnusable, type UnavailableReason } from './store.js';

/** SQLSTATE of a PostgreSQL error (www.postgresql.org/docs/current/errcodes-appendix.html). */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** serialization_failure and deadlock_detected: the same work may succeed when run again. */
export const isConflict = (error: unknown): boolean =>
  ['40001', '40P01'].includes(sqlState(error) ?? '');

/** too_many_connections: another one may end soon. */
export const isCrowded = (error: unknown): boolean => sqlState(error) === '53300';

/** Every connection of the pool was busy for as long as one waits for it. */
const isPoolBusy = (error: unknown): boolean =>
  isNativeError(error) && error.message === 'timeout exceeded when trying to connect';

/**
 * The connection is of no use any more: class 08 (connection exception), 57P0x (server going down
 * or coming up), 25P03 (its transaction idled), 25006 (the server takes no writes: it was the first
 * before a failover), or a broken socket.
 */
export const isDisconnected = (error: unknown): boolean =>
  /^(08|57P0|25P03|25006)/.test(sqlState(error) ?? '') ||
  (isNativeError(error) &&
    sqlState(error) === undefined &&
    ('syscall' in error ||
      /^Connection terminated|^timeout expired|^Client (was closed|has encountered)/.test(
        error.message,
      )));

/** What an error says of the whole database; undefined when one statement was at fault. */
export function unavailable(error: unknown): UnavailableReason | undefined {
  if (isDisconnected(error)) return 'unreachable';
  switch (sqlState(error)) {
    case '53100': // disk_full
      return 'disk-full';
    case '53200': // out_of_memory
    case '53300': // too_many_connections
    case '55P03': // lock_not_available: somebody kept a lock beyond the time-out
    case '57014': // query_canceled: the statement took longer than the time-out
      return 'busy';
    default:
      return isPoolBusy(error) ? 'busy' : undefined;
  }
}

/** What the operator does about a database that cannot be used, by the state of the error. */
const CURES: ReadonlyMap<string, string> = new Map([
  ['28P01', 'check the password in DATABASE_URL'],
  ['28000', 'check the user in DATABASE_URL, and what pg_hba.conf lets in'],
  ['3D000', 'create it, or name another one in DATABASE_URL'],
  ['42501', 'give the user of DATABASE_URL the right to make tables in its schema'],
  ['53300', 'end other connections, or raise max_connections'],
  ['57P03', 'start again in a moment'],
]);

/** Says in one sentence why a database cannot be used; an error that is not about that stays. */
export function unusable(error: unknown, url: string): unknown {
  const { hostname, port, pathname } = new URL(url);
  const place = `PostgreSQL at ${hostname || 'localhost'}:${port || '5432'}`;
  const cure = CURES.get(sqlState(error) ?? '');
  if (cure !== undefined) {
    const database = decodeURIComponent(pathname.slice(1));
    const said = error instanceof Error ? error.message : '';
    return new StoreUnusable(`${place} refuses the database "${database}": ${said}; ${cure}.`, {
      cause: error,
    });
  }
  if (!isDisconnected(error)) return error;
  const reason = reasonOf(error);
  return new StoreUnusable(
    `${place} cannot be reached (${reason}): check that it runs, and the host and port in DATABASE_URL.`,
    { cause: error },
  );
}

/** Happy Eyeballs try several addresses: what each of them said is in `errors`. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError)
    return [...new Set(error.errors.map(systemReason))].join(', ');
  return systemReason(error);
}
