import type { Int } from '../keys/schema.js';
import type { Migration } from '../store/migrations.js';

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

export interface OauthTables {
  oauth_records: OauthRecordRow;
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
];
