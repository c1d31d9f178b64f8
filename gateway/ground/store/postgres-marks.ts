import type pg from 'pg';
import type { Migration } from './migrations.js';

/**
 * How the store learns whether a commit happened that was not answered.
 *
 * Each write leaves the number of its turn in a row that belongs to its connection alone, in the
 * message that commits. Whoever lost the answer looks at that row over another connection: the number
 * is there, or it is replaced by the next one. A commit that is still on its way is beaten by that:
 * its transaction sees the database as of its beginning, so it cannot change a row that was changed
 * since, and is undone. So the answer is definite, also after a crash or a failover of the server,
 * where numbers of transactions (`pg_xact_status`) may have been given to others.
 */
export const MARKS_MIGRATION: Migration = {
  name: 'store-001-marks',
  statements: ({ engine, int }) =>
    engine === 'postgres'
      ? [
          `create table store_marks (
  -- The connection, by a random name.
  mark text not null primary key,
  -- The last write of it that was committed, or that may not be any more.
  ticket ${int} not null,
  -- Milliseconds since 1970; those of connections that are long gone are dropped.
  used_at ${int} not null
)`,
        ]
      : [],
};

/** One write of one connection. */
export interface Ticket {
  /** The connection's random name: hexadecimal digits. */
  readonly mark: string;
  readonly number: number;
}

/** Leaves the mark and commits, in one message to the server. */
export const committing = ({ mark, number }: Ticket, now: number): string =>
  `insert into store_marks (mark, ticket, used_at) values ('${mark}', ${number}, ${now}) ` +
  'on conflict (mark) do update set ticket = excluded.ticket, used_at = excluded.used_at; commit';

/**
 * Whether this write was committed; if it was not, it never will be. Asking again is harmless.
 * The number after it is never that of another write: its connection is gone.
 */
export async function wasCommitted(
  ask: (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>,
  { mark, number }: Ticket,
  now: number,
): Promise<boolean> {
  const { rows } = await ask(
    `insert into store_marks as known (mark, ticket, used_at) values ($1, $2, $3)
     on conflict (mark) do update
     set ticket = case when known.ticket = $4 then known.ticket else excluded.ticket end
     returning ticket`,
    [mark, number + 1, now, number],
  );
  const [row] = rows as { ticket: bigint }[];
  if (!row) throw new Error('a mark was neither there nor made');
  return row.ticket === BigInt(number);
}

/** Milliseconds after which nobody asks for a mark any more. */
const KEPT_MS = 86_400_000;

export const DROP_OLD_MARKS = 'delete from store_marks where used_at < $1';
export const oldMarks = (now: number): readonly unknown[] => [now - KEPT_MS];
