import type { ColumnType } from 'kysely';
import type { Int, KeyTables } from '../keys/schema.js';
import type { Migration } from '../../ground/store/migrations.js';

type Fact = ColumnType<bigint | null, bigint | number | null | undefined, bigint | number | null>;

/**
 * Where an account's credits are, kept beside the transfers that explain it. The database itself
 * holds the balance: granted = available + held + spent, and none of them is ever below zero.
 */
interface CreditBalanceRow {
  account_id: string;
  granted: Int;
  available: Int;
  held: Int;
  spent: Int;
}

/** Outside the books, or one of an account's three pots. */
type Pot = 'outside' | 'available' | 'spent';

/**
 * One movement of credits from the debited pot to the credited one: every entry has its other
 * half in the same row. A movement that is neither posted nor voided yet is held.
 */
interface CreditTransferRow {
  /** The request's id for a search, the grant's own reference otherwise: it moves once. */
  id: string;
  account_id: string;
  key_id: string | null;
  debit: Pot;
  credit: Pot;
  amount: Int;
  /** Why: `search`, `sign-up`, `top-up`, `operator`. */
  cause: string;
  created_at: Int;
  /** When an open hold is given back, should its process have died. Null for grants. */
  lapses_at: Fact;
  posted_at: Fact;
  voided_at: Fact;
}

/** Credits that a key with a monthly budget has spent or holds in a month. */
interface KeyMonthRow {
  key_id: string;
  /** Calendar month in UTC as year * 100 + month: 202611. */
  month: Int;
  used: Int;
}

/** A top-up that was ordered with a payment; granted once the payment has settled. */
interface TopUpRow {
  /** The id of the request that first presented the payment. */
  request_id: string;
  account_id: string;
  credits: Int;
  /** Atomic USDC. */
  amount: Int;
  created_at: Int;
  granted_at: Fact;
}

/** A change that somebody who runs the service made in the console; written before it is made. */
interface OperationRow {
  id: string;
  at: Int;
  person_id: string;
  /** The e-mail address of that person at the time. */
  person: string;
  account_id: string;
  /** One line for people. */
  what: string;
}

/** A search that came with an `Idempotency-Key`, and its reply once there is one. */
interface IdempotentReplyRow {
  account_id: string;
  idempotency_key: string;
  /** Hash of the request. */
  binding: string;
  /** The try that holds the claim; the reply bears its id. */
  request_id: string;
  /** When a claim without a reply may be taken over. */
  lapses_at: Int;
  created_at: Int;
  reply_body: Uint8Array | null | undefined;
  reply_bytes: Int;
  /** The generation of the index that was searched; null where it is not known. */
  reply_generation: Fact;
}

/**
 * One gateway's share of an account's credits, which are held for it, or of a key's monthly budget,
 * which counts as used. Set anew with every turn of the gateway.
 */
interface CreditLeaseRow {
  account_id: string;
  /** Empty for the account's credits. */
  key_id: string;
  /** As in `key_months`; 0 for the account's credits. */
  month: Int;
  gateway: string;
  units: Int;
  /** When it is given back, should its gateway have died; by the clock that all share. */
  lapses_at: Int;
  /** 1 while another gateway needs what is free of it. */
  is_recalled: Int;
}

export interface AccountTables extends KeyTables {
  credit_leases: CreditLeaseRow;
  idempotent_replies: IdempotentReplyRow;
  operations: OperationRow;
  top_ups: TopUpRow;
  credit_balances: CreditBalanceRow;
  credit_transfers: CreditTransferRow;
  key_months: KeyMonthRow;
}

/** The tables of credits; they come after those of keys. */
export const ACCOUNT_MIGRATIONS: readonly Migration[] = [
  {
    name: 'accounts-001-credits',
    statements: ({ int, strict }) => [
      `create table credit_balances (
        account_id text not null primary key references accounts (id),
        granted ${int} not null,
        available ${int} not null check (available >= 0),
        held ${int} not null check (held >= 0),
        spent ${int} not null check (spent >= 0),
        check (granted = available + held + spent)
      ) ${strict}`,
      `create table credit_transfers (
        id text not null primary key,
        account_id text not null references accounts (id),
        key_id text,
        debit text not null check (debit in ('outside', 'available', 'spent')),
        credit text not null check (credit in ('outside', 'available', 'spent')),
        amount ${int} not null check (amount > 0),
        cause text not null,
        created_at ${int} not null,
        lapses_at ${int},
        posted_at ${int},
        voided_at ${int},
        check (debit <> credit),
        check (posted_at is null or voided_at is null)
      ) ${strict}`,
      // Finds what a dead process held, without a walk through what was spent.
      `create index credit_holds_open on credit_transfers (lapses_at)
        where posted_at is null and voided_at is null`,
      // The receipts of an account: few rows beside its searches.
      `create index credit_grants_of_account on credit_transfers (account_id, created_at)
        where debit = 'outside'`,
      `create table key_months (
        key_id text not null references api_keys (id),
        month ${int} not null,
        used ${int} not null check (used >= 0),
        primary key (key_id, month)
      ) ${strict}`,
    ],
  },
  {
    name: 'accounts-004-top-ups',
    statements: ({ int, strict }) => [
      `create table top_ups (
        request_id text not null primary key,
        account_id text not null references accounts (id),
        credits ${int} not null check (credits > 0),
        amount ${int} not null,
        created_at ${int} not null,
        granted_at ${int}
      ) ${strict}`,
      // Orders whose payment may have settled while nobody was there to book it.
      `create index top_ups_open on top_ups (created_at) where granted_at is null`,
    ],
  },
  {
    name: 'accounts-006-operations',
    statements: ({ int, strict }) => [
      `create table operations (
        id text not null primary key,
        at ${int} not null,
        person_id text not null,
        person text not null,
        account_id text not null references accounts (id),
        what text not null
      ) ${strict}`,
      `create index operations_by_time on operations (at)`,
      `create index operations_of_account on operations (account_id, at)`,
    ],
  },
  {
    name: 'accounts-020-idempotent-replies',
    statements: ({ int, bytes, strict }) => [
      `create table idempotent_replies (
        account_id text not null references accounts (id),
        idempotency_key text not null,
        -- Hash of the request: the same key with another one is refused.
        binding text not null,
        -- The try that runs the search: nobody else may store the reply.
        request_id text not null,
        -- When the claim of a process that died may be taken over.
        lapses_at ${int} not null,
        created_at ${int} not null,
        -- The exact bytes of the 200; null while the search runs.
        reply_body ${bytes},
        reply_bytes ${int} not null,
        primary key (account_id, idempotency_key)
      ) ${strict}`,
      // Finds the oldest, of an account and of all, and adds their bytes up without the bodies.
      `create index idempotent_replies_of_account
        on idempotent_replies (account_id, created_at, reply_bytes)`,
      `create index idempotent_replies_by_time on idempotent_replies (created_at, reply_bytes)`,
    ],
  },
  {
    name: 'accounts-021-credit-leases',
    statements: ({ int, strict }) => [
      `create table credit_leases (
        account_id text not null references accounts (id),
        -- A key with a budget, and its month; empty and 0 for the account's own credits.
        key_id text not null,
        month ${int} not null,
        gateway text not null,
        -- Free ones, those in searches that run, and those that are spent and not booked yet.
        units ${int} not null check (units > 0),
        lapses_at ${int} not null,
        is_recalled ${int} not null,
        primary key (account_id, key_id, month, gateway)
      ) ${strict}`,
      `create index credit_leases_lapsing on credit_leases (lapses_at)`,
      // What others need of one gateway is looked for four times a second.
      `create index credit_leases_recalled on credit_leases (gateway) where is_recalled = 1`,
    ],
  },
  {
    name: 'accounts-022-reply-generations',
    // A reply that is sent again says in which generation of the index it was found.
    statements: ({ int }) => [`alter table idempotent_replies add column reply_generation ${int}`],
  },
];
