import type { Clock, Random } from '../domain/ports.js';
import type { Migration } from './migrations.js';
import type { Serving } from './postgres-pool.js';
import { openPostgres } from './postgres.js';
import { openSqlite } from './sqlite.js';
import type { Store, StoreLimits } from './store.js';

export interface StoreSettings {
  /** A SQLite file path or `:memory:`, or a `postgres://` or `postgresql://` URL. */
  readonly location: string;
  /** All rooms' migrations, in the order in which they run. */
  readonly migrations: readonly Migration[];
  readonly limits?: StoreLimits;
  /** SQLite: refuses to open a file that another process has opened like this. Default false. */
  readonly exclusive?: boolean;
  /** PostgreSQL connections at most; default 10. */
  readonly connectionsMax?: number;
  /** PostgreSQL: how a service stands on it; absent for commands. */
  readonly serving?: Serving;
}

/** What the store needs of the world. */
export interface StorePorts {
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'defer' | 'sleep'>;
  readonly random: Pick<Random, 'bytes'>;
  /** Told once when a commit failed so that nothing can be trusted: main ends the process. */
  onFailed(error: unknown): void;
}

/** Opens the database that `location` names, with its schema up to date. */
export function openStore(settings: StoreSettings, ports: StorePorts): Promise<Store> {
  const { location, ...common } = settings;
  const { clock, random } = ports;
  if (/^postgres(ql)?:\/\//.test(location)) {
    return openPostgres({ url: location, ...common, clock, random });
  }
  return openSqlite({
    file: location,
    ...common,
    clock,
    onFailed: (error) => ports.onFailed(error),
  });
}
