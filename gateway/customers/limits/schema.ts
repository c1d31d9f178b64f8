import type { ColumnType } from 'kysely';
import type { Migration } from '../../ground/store/migrations.js';

type Int = ColumnType<bigint, bigint | number, bigint | number>;

/** How many slots of a rate are on lease to gateways. */
interface RatePoolRow {
  subject: string;
  leased: Int;
}

/** One gateway's share of a rate. */
interface RateLeaseRow {
  subject: string;
  gateway: string;
  slots: Int;
  /** When it is no gateway's any more, should its own have died; by the clock that all share. */
  lapses_at: Int;
  /** Slots that other gateways need of it. */
  wanted: Int;
}

export interface LimitTables {
  rate_pools: RatePoolRow;
  rate_leases: RateLeaseRow;
}

export const LIMIT_MIGRATIONS: readonly Migration[] = [
  {
    // Of the version before leases, which may run beside this one while it is replaced.
    name: 'limits-001-slots',
    statements: ({ int, strict }) => [
      `create table rate_slots (
        -- An account's or a key's id: whose rate this is.
        subject text not null,
        -- 0 to limit - 1. As each is used once in a window, no window holds more than there are.
        slot ${int} not null,
        used_at ${int} not null,
        primary key (subject, slot)
      ) ${strict}`,
    ],
  },
  {
    name: 'limits-002-leases',
    statements: ({ int, strict }) => [
      `create table rate_pools (
        -- An account's id, or "key" and a key's: whose rate this is.
        subject text not null primary key,
        -- The sum of its leases. Gateways that lease at the same time meet in this row.
        leased ${int} not null check (leased >= 0)
      ) ${strict}`,
      `create table rate_leases (
        subject text not null,
        gateway text not null,
        slots ${int} not null check (slots > 0),
        lapses_at ${int} not null,
        wanted ${int} not null,
        primary key (subject, gateway)
      ) ${strict}`,
      `create index rate_leases_lapsing on rate_leases (lapses_at)`,
      `create index rate_leases_wanted on rate_leases (gateway) where wanted > 0`,
    ],
  },
];
