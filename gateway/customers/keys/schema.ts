import type { ColumnType, Generated } from 'kysely';
import type { Plan } from '../../ground/domain/plan.js';
import type { Migration } from '../../ground/store/migrations.js';

/** A 64-bit integer: read as `bigint`, written as either. */
export type Int = ColumnType<bigint, bigint | number, bigint | number>;
type NullableInt = ColumnType<
  bigint | null,
  bigint | number | null | undefined,
  bigint | number | null
>;

/** An organization that searches on credits. Times are Unix milliseconds. */
interface AccountRow {
  id: string;
  name: string;
  plan: Plan;
  /** Searches per second agreed with the operator; null for the plan's own. */
  rate_per_second: NullableInt;
  /** When the agreed plan ends; null for one without an end. */
  plan_ends_at: NullableInt;
  suspended_at: NullableInt;
  /** Shown to members. */
  suspended_reason: string | null;
  created_at: Int;
  /** Who searches with it: people who sign in, or a wallet that bought a pack. */
  holder: Generated<'people' | 'wallet'>;
}

/** An API key. Of the key itself only its SHA-256 and its last four characters are known. */
interface ApiKeyRow {
  id: string;
  account_id: string;
  hash: string;
  last4: string;
  name: string;
  /** The person who made it; null for the operator's command line and the development key. */
  created_by: string | null;
  created_at: Int;
  last_used_at: NullableInt;
  expires_at: NullableInt;
  /** Credits that it may spend in a calendar month (UTC). */
  monthly_budget: NullableInt;
  rate_per_second: NullableInt;
  revoked_at: NullableInt;
  /** The key that takes this one's place, while both work. */
  replaced_by: Generated<string | null>;
}

export interface KeyTables {
  accounts: AccountRow;
  api_keys: ApiKeyRow;
}

export const KEY_MIGRATIONS: readonly Migration[] = [
  {
    name: 'keys-001-accounts-and-keys',
    statements: ({ int, strict }) => [
      `create table accounts (
        id text not null primary key,
        name text not null,
        plan text not null check (plan in ('payg', 'pro', 'enterprise')),
        rate_per_second ${int} check (rate_per_second between 1 and 10000),
        suspended_at ${int},
        suspended_reason text,
        created_at ${int} not null
      ) ${strict}`,
      `create table api_keys (
        id text not null primary key,
        account_id text not null references accounts (id),
        hash text not null unique,
        last4 text not null,
        name text not null,
        created_by text,
        created_at ${int} not null,
        last_used_at ${int},
        expires_at ${int},
        monthly_budget ${int} check (monthly_budget >= 0),
        rate_per_second ${int} check (rate_per_second between 1 and 10000),
        revoked_at ${int},
        replaced_by text
      ) ${strict}`,
      `create index api_keys_of_account on api_keys (account_id, created_at)`,
    ],
  },
  {
    name: 'keys-002-end-of-plan',
    statements: ({ int }) => [`alter table accounts add column plan_ends_at ${int}`],
  },
  {
    name: 'keys-003-holders',
    statements: () => [
      `alter table accounts add column holder text not null default 'people'`,
      // Packs are many: the operator's list of accounts goes around them.
      `create index accounts_of_people on accounts (name, id) where holder = 'people'`,
    ],
  },
];
