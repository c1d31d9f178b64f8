import type { ColumnType } from 'kysely';
import type { Migration } from '../../ground/store/migrations.js';
import type { AccountTables } from '../credits/schema.js';
import type { Int } from '../keys/schema.js';

type Fact = ColumnType<bigint | null, bigint | number | null | undefined, bigint | number | null>;

/**
 * A pack of searches that somebody reserved a payment for. The account and the key that it names
 * exist once `opened_at` is set, which is once the payment has settled.
 */
interface PackRow {
  /** The id of the request that reserved the payment: one payment, one pack. */
  request_id: string;
  account_id: string;
  key_id: string;
  /** The payment, as the ledger knows it; its payer may list and revoke. */
  chain_id: Int;
  asset: string;
  payer: string;
  nonce: string;
  /** SHA-256 of what the buyer was quoted in secret, hex; the payment alone hands out no key. */
  ticket_hash: string;
  /** The key, sealed; null once it has expired or was revoked. */
  sealed_key: string | null;
  searches: Int;
  /** Atomic USDC. */
  amount: Int;
  created_at: Int;
  /** As it was sold; a top-up moves the key's own. */
  expires_at: Int;
  opened_at: Fact;
}

/** A proof of a wallet that was used: it is good once. */
interface WalletProofRow {
  address: string;
  nonce: string;
  /** When it may be forgotten: it has expired by then. */
  forget_at: Int;
}

export interface PackTables extends AccountTables {
  packs: PackRow;
  wallet_proofs: WalletProofRow;
}

/** The tables of packs; they come after those of credits. */
export const PACK_MIGRATIONS: readonly Migration[] = [
  {
    name: 'packs-001-packs',
    statements: ({ int, strict }) => [
      `create table packs (
        request_id text not null primary key,
        account_id text not null unique,
        key_id text not null unique,
        chain_id ${int} not null,
        asset text not null,
        payer text not null,
        nonce text not null,
        -- The payment itself can be read off the chain: the key is for who knows the ticket.
        ticket_hash text not null,
        sealed_key text,
        searches ${int} not null check (searches > 0),
        amount ${int} not null check (amount > 0),
        created_at ${int} not null,
        expires_at ${int} not null,
        opened_at ${int}
      ) ${strict}`,
      `create index packs_of_payer on packs (payer, created_at)`,
      // Packs whose payment may have settled while nobody was there to open them.
      `create index packs_unopened on packs (created_at) where opened_at is null`,
      // Keys that are kept, to find those that need not be any more.
      `create index packs_sealed on packs (expires_at) where sealed_key is not null`,
      `create table wallet_proofs (
        address text not null,
        nonce text not null,
        forget_at ${int} not null,
        primary key (address, nonce)
      ) ${strict}`,
      `create index wallet_proofs_by_time on wallet_proofs (forget_at)`,
    ],
  },
];
