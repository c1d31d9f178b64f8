import type { ColumnType } from 'kysely';
import type { Int } from '../../customers/keys/schema.js';
import type { Migration } from '../../ground/store/migrations.js';

/** What the authorization server remembers: one row for each client, grant, code and token. */
interface OauthRecordRow {
  /** `Client`, `Grant`, `AccessToken`, …: the authorization server's own names. */
  model: string;
  /** The record's id; the SHA-256 of it where the id itself is a credential. */
  id: string;
  payload: string;
  grant_id: string | null;
  client_id: string | null;
  uid: string | null;
  created_at: Int;
  expires_at: bigint | number | null;
  consumed_at: bigint | number | null;
}

/** An application that a person let search on an account. Times are Unix milliseconds. */
interface OauthConnectionRow {
  grant_id: string;
  person_id: string;
  account_id: string;
  client_id: string;
  /** What the application called itself when the person consented. */
  client_name: string;
  scope: string;
  /** The addresses of `/mcp` that its tokens may be asked for, separated by spaces. */
  resources: string;
  created_at: Int;
  last_used_at: ColumnType<bigint | null, bigint | number | null, bigint | number | null>;
}

export interface OauthTables {
  oauth_records: OauthRecordRow;
  oauth_connections: OauthConnectionRow;
}

/** The tables of OAuth; they come after those of keys. */
export const OAUTH_MIGRATIONS: readonly Migration[] = [
  {
    name: 'oauth-001-records',
    statements: ({ int, strict }) => [
      `create table oauth_records (
        model text not null,
        id text not null,
        -- JSON, without the token that it belongs to.
        payload text not null,
        -- Revoking a grant ends all that came of it.
        grant_id text,
        -- Which clients still have a grant; others are forgotten after a day.
        client_id text,
        -- An interaction is found by the uid in its page's address.
        uid text,
        created_at ${int} not null,
        -- Null for what does not lapse by itself.
        expires_at ${int},
        -- When a code or a rotated refresh token was used: a second use ends the grant.
        consumed_at ${int},
        primary key (model, id)
      ) ${strict}`,
      `create index oauth_records_of_grant on oauth_records (grant_id) where grant_id is not null`,
      `create index oauth_records_by_uid on oauth_records (model, uid) where uid is not null`,
      `create index oauth_records_expiry on oauth_records (expires_at)
        where expires_at is not null`,
    ],
  },
  {
    name: 'oauth-002-connections',
    statements: ({ int, strict }) => [
      `create table oauth_connections (
        grant_id text primary key,
        person_id text not null,
        account_id text not null references accounts (id),
        client_id text not null,
        -- The name at the time of consent: showing it, and checking a token, needs no client.
        client_name text not null,
        scope text not null,
        resources text not null,
        created_at ${int} not null,
        last_used_at ${int}
      ) ${strict}`,
      `create index oauth_connections_of_person on oauth_connections (person_id, created_at)`,
      // Consents from before this table could not be shown or ended: they are asked for again.
      `delete from oauth_records
        where model in ('Grant', 'AccessToken', 'RefreshToken', 'AuthorizationCode')`,
    ],
  },
  {
    name: 'oauth-003-sealed-secrets',
    // They stood here unsealed, so whoever had a copy of the database knows them: new ones are drawn.
    statements: () => [`delete from oauth_records where model = 'Secrets'`],
  },
];
