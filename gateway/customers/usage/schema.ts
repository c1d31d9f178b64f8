import type { Int } from '../keys/schema.js';
import type { Migration } from '../../ground/store/migrations.js';

/** Searches of one account in one hour that share key, outcome and latency class. */
interface UsageHourRow {
  account_id: string;
  /** Hours since the Unix epoch. */
  hour: Int;
  key_id: string;
  /** `ok`, or the code of the refusal. */
  outcome: string;
  /** The class's upper bound in milliseconds: see LATENCY_CLASSES_MS. */
  latency_ms: Int;
  searches: Int;
  credits: Int;
}

/** One search, for the request inspector; kept for REQUESTS_KEPT_MS. */
interface RequestRow {
  id: string;
  account_id: string;
  key_id: string;
  at: Int;
  query: string;
  max_results: Int;
  max_description_length: Int;
  outcome: string;
  results: Int;
  latency_ms: Int;
  credits: Int;
}

/** Who searched, by the name of that time: keys stay in the books, connections are deleted. */
interface UsageCallerRow {
  account_id: string;
  key_id: string;
  name: string;
  person_id: string | null;
}

export interface UsageTables {
  usage_callers: UsageCallerRow;
  usage_hours: UsageHourRow;
  requests: RequestRow;
}

export const USAGE_MIGRATIONS: readonly Migration[] = [
  {
    name: 'accounts-003-usage',
    statements: ({ int, strict }) => [
      `create table usage_hours (
        account_id text not null references accounts (id),
        hour ${int} not null,
        key_id text not null,
        outcome text not null,
        latency_ms ${int} not null,
        searches ${int} not null,
        credits ${int} not null,
        primary key (account_id, hour, key_id, outcome, latency_ms)
      ) ${strict}`,
      `create table requests (
        id text not null primary key,
        account_id text not null references accounts (id),
        key_id text not null,
        at ${int} not null,
        query text not null,
        max_results ${int} not null,
        max_description_length ${int} not null,
        outcome text not null,
        results ${int} not null,
        latency_ms ${int} not null,
        credits ${int} not null
      ) ${strict}`,
      `create index requests_of_account on requests (account_id, at)`,
      // What has been kept for long enough is found without a walk.
      `create index requests_by_age on requests (at)`,
    ],
  },
  {
    name: 'accounts-007-usage-callers',
    statements: ({ strict }) => [
      `create table usage_callers (
        account_id text not null references accounts (id),
        key_id text not null,
        name text not null,
        person_id text,
        primary key (account_id, key_id)
      ) ${strict}`,
    ],
  },
];
