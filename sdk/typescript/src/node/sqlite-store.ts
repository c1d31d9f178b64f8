import { closeSync, openSync } from 'node:fs';
import { PaymentError } from '../errors.js';
import { WINDOW_SECONDS_MAX, type PaymentRecord } from '../payment/record.js';
import { DAY_MS } from '../payment/index-of-records.js';
import {
  CARRIED,
  CLOSED_RECORDS_MAX,
  KEPT_MS,
  type PaymentStore,
  type Spent,
  type StoreView,
} from '../payment/store-view.js';
import { decodeRecords, encodeRecord } from './records.js';

/** What `node:sqlite` and `bun:sqlite` have in common. */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    get(...values: readonly (string | number)[]): unknown;
    all(...values: readonly (string | number)[]): unknown[];
    run(...values: readonly (string | number)[]): unknown;
  };
}

type OpenSqlite = (path: string) => SqliteDatabase;

/** Opens databases where the runtime can (Node 22.13 and newer, Bun); undefined elsewhere. */
export async function loadSqlite(): Promise<OpenSqlite | undefined> {
  const isBun = 'bun' in process.versions;
  const name: string = isBun ? 'bun:sqlite' : 'node:sqlite';
  const quiet = silenceExperimental();
  try {
    const loaded = (await import(name)) as Record<
      'Database' | 'DatabaseSync',
      new (path: string) => SqliteDatabase
    >;
    const Kind = loaded[isBun ? 'Database' : 'DatabaseSync'];
    return (path) => new Kind(path);
  } catch {
    return undefined;
  } finally {
    quiet();
  }
}

/** Node says once that its SQLite is experimental; nobody who only searches should read that. */
function silenceExperimental(): () => void {
  const emitWarning = Reflect.get(process, 'emitWarning') as (...args: unknown[]) => void;
  process.emitWarning = (warning: string | Error, ...more: unknown[]) => {
    if (String(warning).startsWith('SQLite is an experimental')) return;
    Reflect.apply(emitWarning, process, [warning, ...more]);
  };
  return () => {
    process.emitWarning = emitWarning;
  };
}

/** Amounts beyond this are no longer exact as SQLite's bindings read them: nine billion dollars. */
const UNITS_MAX = BigInt(Number.MAX_SAFE_INTEGER);
const BUSY_MS = 30_000;
const CARRY_EVERY = 1_000;
/** The row of all minutes together. */
const TOTAL = -1;

const minuteOf = (atMs: number) => Math.floor(atMs / 60_000);

const SCHEMA = `
  create table if not exists payments (
    id text not null primary key,
    place integer not null unique,
    status text not null,
    url text not null,
    body text,
    units integer not null,
    created_at integer not null,
    record text not null
  );
  create index if not exists payments_pending on payments (url, body)
    where status in ('open', 'signing');
  create index if not exists payments_signing on payments (created_at) where status = 'signing';
  create index if not exists payments_by_time on payments (created_at);
  -- What counts for ever, by minute, and of all minutes under TOTAL: no look adds all records up.
  create table if not exists minutes (minute integer not null primary key, units integer not null);
`;

/** Payments in a database: each change is one transaction, over all processes. */
export class SqliteStore implements PaymentStore {
  readonly #view: StoreView;
  readonly #statements: Statements;
  #changes = 0;

  private constructor(private readonly database: SqliteDatabase) {
    this.#statements = prepare(database);
    this.#view = viewOf(this.#statements);
  }

  /** @param earlier what a new database begins with */
  static async open(
    path: string,
    open: OpenSqlite,
    earlier: () => Promise<readonly PaymentRecord[]>,
  ): Promise<SqliteStore> {
    // SQLite gives its other files the mode of this one.
    closeSync(openSync(path, 'a', 0o600));
    const database = open(path);
    database.exec(`pragma busy_timeout = ${BUSY_MS}`);
    database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    const isNew = () => {
      const row = database.prepare('pragma user_version').get() as { user_version: number };
      return row.user_version === 0;
    };
    const records = isNew() ? await earlier() : [];
    database.exec('begin immediate');
    database.exec(SCHEMA);
    const store = new SqliteStore(database);
    if (isNew()) {
      for (const record of records) store.#put(record);
      database.exec('pragma user_version = 1');
    }
    database.exec('commit');
    return store;
  }

  update(
    change: (view: StoreView) => PaymentRecord | undefined,
  ): Promise<PaymentRecord | undefined> {
    return attempt(() => {
      this.database.exec('begin immediate');
      try {
        const put = change(this.#view);
        if (put) {
          this.#put(put);
          this.#changes += 1;
          if (this.#changes % CARRY_EVERY === 1) this.#carry(put.createdAtMs);
        }
        this.database.exec('commit');
        return put;
      } catch (error) {
        this.database.exec('rollback');
        throw error;
      }
    });
  }

  read<T>(look: (view: StoreView) => T): Promise<T> {
    return attempt(() => look(this.#view));
  }

  list(): Promise<readonly PaymentRecord[]> {
    return attempt(() => this.#statements.all.all().map(recordOf));
  }

  #put(record: PaymentRecord): void {
    const { id, status, url, body, amountUnits, createdAtMs } = record;
    if (amountUnits > UNITS_MAX) throw new PaymentError('this amount is too large for the store');
    const units = Number(amountUnits);
    const before = this.#statements.get.get(id);
    if (before) this.#count(recordOf(before), -1);
    this.#count(record, 1);
    const text = encodeRecord(record);
    this.#statements.put.run(id, id, status, url, body ?? '', units, createdAtMs, text);
  }

  #count({ status, amountUnits, createdAtMs }: PaymentRecord, sign: 1 | -1): void {
    if (status === 'signing' || status === 'released') return;
    const units = sign * Number(amountUnits);
    for (const minute of [minuteOf(createdAtMs), TOTAL]) this.#statements.count.run(minute, units);
  }

  /** Sums closed records older than two days into one where there are very many. */
  #carry(nowMs: number): void {
    const { size, old } = this.#statements;
    const { rows } = size.get() as { rows: number };
    if (rows <= CLOSED_RECORDS_MAX) return;
    const records = old.all(nowMs - KEPT_MS).map(recordOf);
    const [first] = records;
    if (!first) return;
    const amountUnits = records
      .filter(({ status }) => status !== 'released')
      .reduce((sum, record) => sum + record.amountUnits, 0n);
    for (const record of records) {
      this.#count(record, -1);
      this.#statements.remove.run(record.id);
    }
    this.#put({ ...first, id: CARRIED, status: 'paid', amountUnits });
  }
}

function prepare(database: SqliteDatabase) {
  return {
    get: database.prepare('select record from payments where id = ?'),
    pending: database.prepare(
      `select record from payments
       where url = ? and body = ? and status in ('open', 'signing') order by place`,
    ),
    minutes: database.prepare(
      'select coalesce(sum(units), 0) as units from minutes where minute > ?',
    ),
    total: database.prepare(
      'select coalesce(sum(units), 0) as units from minutes where minute = ?',
    ),
    between: database.prepare(
      `select coalesce(sum(units), 0) as units from payments
       where created_at > ? and created_at < ? and status in ('open', 'paid', 'refused')`,
    ),
    signing: database.prepare(
      `select coalesce(sum(units), 0) as units from payments
       where status = 'signing' and created_at > ?`,
    ),
    all: database.prepare('select record from payments order by place'),
    put: database.prepare(
      `insert into payments (id, place, status, url, body, units, created_at, record)
       values (?, coalesce((select place from payments where id = ?),
         (select coalesce(max(place), 0) + 1 from payments)), ?, ?, ?, ?, ?, ?)
       on conflict (id) do update set status = excluded.status, url = excluded.url,
         body = excluded.body, units = excluded.units, created_at = excluded.created_at,
         record = excluded.record`,
    ),
    size: database.prepare('select count(*) as rows from payments'),
    count: database.prepare(
      `insert into minutes (minute, units) values (?, ?)
       on conflict (minute) do update set units = units + excluded.units`,
    ),
    old: database.prepare(
      `select record from payments
       where created_at < ? and status not in ('open', 'signing') order by place`,
    ),
    remove: database.prepare('delete from payments where id = ?'),
  };
}

type Statements = ReturnType<typeof prepare>;

function viewOf({ get, pending, minutes, total, between, signing }: Statements): StoreView {
  const unitsOf = (row: unknown) => BigInt((row as { units: number }).units);
  return {
    get: (id) => {
      const row = get.get(id);
      return row === undefined || row === null ? undefined : recordOf(row);
    },
    pending: (url, body) => pending.all(url, body).map(recordOf),
    spent: (nowMs): Spent => {
      const startMs = nowMs - DAY_MS;
      const first = minuteOf(startMs);
      const aliveMs = nowMs - WINDOW_SECONDS_MAX * 1000;
      const beingSigned = unitsOf(signing.get(aliveMs));
      const dayUnits =
        unitsOf(minutes.get(first)) +
        unitsOf(between.get(startMs, (first + 1) * 60_000)) +
        beingSigned;
      return { dayUnits, totalUnits: unitsOf(total.get(TOTAL)) + beingSigned };
    },
  };
}

function recordOf(row: unknown): PaymentRecord {
  const { record } = row as { record: string };
  const [found] = decodeRecords(record, 'database').values();
  if (!found) throw new PaymentError('the payment log has an empty record; nothing was signed');
  return found;
}

/** What `work` returns or throws, as a promise; it runs at once. */
function attempt<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
