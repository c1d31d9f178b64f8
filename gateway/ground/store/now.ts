import { sql, type RawBuilder } from 'kysely';
import type { Clock } from '../domain/ports.js';
import type { Store } from './store.js';

/**
 * The time that all processes on one database agree on, in Unix milliseconds: PostgreSQL's own
 * clock, or this process's where the database is a file of its machine.
 */
export function storeNow(
  { engine }: Pick<Store, 'engine'>,
  clock: Pick<Clock, 'now'>,
): RawBuilder<bigint> {
  return engine === 'postgres'
    ? sql<bigint>`cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)`
    : sql<bigint>`${sql.val(BigInt(clock.now()))}`;
}
