import type { Migration } from '../../ground/store/migrations.js';

/** One admission's place in a window: free again one window after `used_at`. */
interface RateSlotRow {
  subject: string;
  slot: number | bigint;
  /** Unix milliseconds by the database's clock, which all gateways share. */
  used_at: number | bigint;
}

export interface LimitTables {
  rate_slots: RateSlotRow;
}

export const LIMIT_MIGRATIONS: readonly Migration[] = [
  {
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
];
