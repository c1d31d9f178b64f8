import type { ColumnType } from 'kysely';
import type { Int } from '../keys/schema.js';
import type { Migration } from '../../ground/store/migrations.js';

/** A wallet that signs a person in. Times are Unix milliseconds. */
interface WalletRow {
  /** Lower-case hex; a wallet belongs to one person. */
  address: string;
  person_id: string;
  created_at: Int;
}

/** What a wallet was asked to sign, or has signed before its person was known. Used once. */
interface WalletClaimRow {
  nonce: string;
  address: string;
  /** The signed-in person who adds the wallet; null where the wallet is to sign in. */
  person_id: string | null;
  state: 'asked' | 'proved';
  expires_at: Int;
}

/** A sign-up that waits for its address to be confirmed; a later one for the address replaces it. */
interface SignUpRow {
  email: string;
  name: string;
  /** SHA-256 of the token in the mailed link. */
  token_hash: string;
  /** The invitation through which the person came, if they did. */
  invitation_id: string | null;
  expires_at: Int;
}

/** How many mails may still go to somebody: when the allowance will be whole again. */
interface MailAllowanceRow {
  /** The kind of mail and its recipient, and for some also who asked for it. */
  name: string;
  full_at: Int;
}

/**
 * The tables of people, sessions, memberships and invitations, in the shape that better-auth 1.7
 * reads and writes (its field names, hence the quotes). An organization is an account: both rows
 * have one id. Dates are ISO 8601 text in SQLite and timestamps in PostgreSQL, as its adapter
 * expects.
 */
export interface PeopleTables {
  people: {
    id: string;
    name: string;
    email: string;
    emailVerified: boolean | number;
    /** When the person first founded an account, whose free credits are given once. */
    founded_at: ColumnType<bigint | null, bigint | number | null, bigint | number | null>;
    createdAt: ColumnType<unknown, string, never>;
    updatedAt: ColumnType<unknown, string, string>;
  };
  logins: {
    id: string;
    accountId: string;
    providerId: 'credential';
    userId: string;
    /** A hash of it. */
    password: string;
    createdAt: string;
    updatedAt: string;
  };
  sessions: { id: string; userId: string; token: string };
  sign_ups: SignUpRow;
  mail_allowances: MailAllowanceRow;
  memberships: {
    id: string;
    organizationId: string;
    userId: string;
    role: Role;
    createdAt: string;
  };
  invitations: {
    id: string;
    organizationId: string;
    email: string;
    role: Role;
    status: 'pending' | 'accepted' | 'rejected' | 'canceled';
    expiresAt: string | Date;
    inviterId: string;
    createdAt: string | Date;
  };
  organizations: {
    id: string;
    name: string;
    slug: string;
    createdAt: string;
  };
  wallets: WalletRow;
  wallet_claims: WalletClaimRow;
  service_secrets: { name: string; value: string };
  outbox: {
    id: string;
    recipient: string;
    subject: string;
    body: string;
    created_at: bigint | number;
  };
}

/**
 * What a member of an account may do: an Admin manages billing, plans, team, keys and sees usage;
 * a Member manages keys and sees usage (service specification, Authentication).
 */
export type Role = 'admin' | 'member';

export function isRole(text: unknown): text is Role {
  return text === 'admin' || text === 'member';
}

export const PEOPLE_MIGRATIONS: readonly Migration[] = [
  {
    name: 'accounts-002-people',
    statements: ({ engine, int, strict }) => {
      const date = engine === 'sqlite' ? 'text' : 'timestamptz';
      const bool = engine === 'sqlite' ? 'integer' : 'boolean';
      return [
        `create table people (
          id text not null primary key,
          name text not null,
          email text not null unique,
          "emailVerified" ${bool} not null,
          image text,
          "createdAt" ${date} not null,
          "updatedAt" ${date} not null
        ) ${strict}`,
        `create table sessions (
          id text not null primary key,
          "expiresAt" ${date} not null,
          token text not null unique,
          "createdAt" ${date} not null,
          "updatedAt" ${date} not null,
          "ipAddress" text,
          "userAgent" text,
          "userId" text not null references people (id) on delete cascade,
          "activeOrganizationId" text
        ) ${strict}`,
        `create index sessions_of_person on sessions ("userId")`,
        // How a person signs in: the hash of a password.
        `create table logins (
          id text not null primary key,
          "accountId" text not null,
          "providerId" text not null,
          "userId" text not null references people (id) on delete cascade,
          "accessToken" text,
          "refreshToken" text,
          "idToken" text,
          "accessTokenExpiresAt" ${date},
          "refreshTokenExpiresAt" ${date},
          scope text,
          password text,
          "createdAt" ${date} not null,
          "updatedAt" ${date} not null
        ) ${strict}`,
        `create index logins_of_person on logins ("userId")`,
        // Tokens of password resets that are under way.
        `create table verifications (
          id text not null primary key,
          identifier text not null,
          value text not null,
          "expiresAt" ${date} not null,
          "createdAt" ${date} not null,
          "updatedAt" ${date} not null
        ) ${strict}`,
        `create index verifications_by_identifier on verifications (identifier)`,
        `create table organizations (
          id text not null primary key references accounts (id),
          name text not null,
          slug text not null unique,
          logo text,
          metadata text,
          "createdAt" ${date} not null
        ) ${strict}`,
        `create table memberships (
          id text not null primary key,
          "organizationId" text not null references organizations (id) on delete cascade,
          "userId" text not null references people (id) on delete cascade,
          role text not null check (role in ('admin', 'member')),
          "createdAt" ${date} not null,
          unique ("organizationId", "userId")
        ) ${strict}`,
        `create index memberships_of_person on memberships ("userId")`,
        `create table invitations (
          id text not null primary key,
          "organizationId" text not null references organizations (id) on delete cascade,
          email text not null,
          role text not null check (role in ('admin', 'member')),
          status text not null,
          "expiresAt" ${date} not null,
          "inviterId" text not null references people (id) on delete cascade,
          "createdAt" ${date} not null
        ) ${strict}`,
        `create index invitations_of_organization on invitations ("organizationId")`,
        `create index invitations_by_email on invitations (email)`,
        // Made at the first start, so that none has to be configured: what signs session cookies.
        `create table service_secrets (
          name text not null primary key,
          value text not null
        ) ${strict}`,
        // Mail that was not sent because no mail server is configured.
        `create table outbox (
          id text not null primary key,
          recipient text not null,
          subject text not null,
          body text not null,
          created_at ${int} not null
        ) ${strict}`,
      ];
    },
  },
  {
    name: 'accounts-005-wallets',
    statements: ({ int, strict }) => [
      `create table wallets (
        address text not null primary key,
        person_id text not null references people (id) on delete cascade,
        created_at ${int} not null
      ) ${strict}`,
      `create index wallets_of_person on wallets (person_id)`,
      `create table wallet_claims (
        nonce text not null primary key,
        address text not null,
        person_id text references people (id) on delete cascade,
        state text not null check (state in ('asked', 'proved')),
        expires_at ${int} not null
      ) ${strict}`,
      `create index wallet_claims_by_expiry on wallet_claims (expires_at)`,
    ],
  },
  {
    // Until here a person existed before the address was confirmed, with a password that anybody
    // may have chosen; sessions' tokens stood as they are, and secrets unsealed. All of it is made
    // anew: everybody signs in once more, and unconfirmed people sign up again.
    name: 'accounts-008-proven-people',
    statements: ({ engine, int, strict }) => [
      `create table sign_ups (
        -- One open sign-up for an address: a later one takes its place.
        email text not null primary key,
        name text not null,
        token_hash text not null unique,
        invitation_id text,
        expires_at ${int} not null
      ) ${strict}`,
      `create index sign_ups_by_expiry on sign_ups (expires_at)`,
      `create table mail_allowances (
        name text not null primary key,
        full_at ${int} not null
      ) ${strict}`,
      `create index mail_allowances_by_time on mail_allowances (full_at)`,
      `delete from people where "emailVerified" = ${engine === 'sqlite' ? '0' : 'false'}`,
      `delete from sessions`,
      `delete from verifications`,
      `delete from service_secrets`,
      `alter table people add column founded_at ${int}`,
      // The founder's place in an account was made in the same moment as the account.
      `update people set founded_at = 0 where exists (
        select 1 from memberships
        join organizations on organizations.id = memberships."organizationId"
        where memberships."userId" = people.id
          and memberships."createdAt" = organizations."createdAt"
      )`,
    ],
  },
];
