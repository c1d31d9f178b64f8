import type { Migration, SqlWords } from '../../ground/store/migrations.js';

/**
 * The books of channels. Amounts are atomic units in 64 bits, which is more than all USDC that
 * exists: what would not fit is refused before it gets here. Times are Unix milliseconds unless the
 * name says seconds; addresses, hashes and signatures are lower-case hex with 0x.
 */
const channels = ({ int, strict }: SqlWords) => `create table channels (
  -- The EIP-712 hash of the configuration below: it names the channel on chain.
  id text not null primary key,
  chain_id ${int} not null,
  -- The configuration: every claim, refund and deposit repeats it.
  payer text not null,
  payer_authorizer text not null,
  receiver text not null,
  receiver_authorizer text not null,
  token text not null,
  withdraw_delay_seconds ${int} not null,
  salt text not null,
  created_at ${int} not null,
  -- When a search was last charged: idle channels are claimed in their own time.
  charged_at ${int},
  -- What its searches have cost. This is what is claimed, whatever was signed.
  charged ${int} not null default 0 check (charged >= 0),
  -- The highest voucher ever taken, with the payer's signature: a claim shows it. Kept from the
  -- reservation on, so that no crash between search and charge can lose it.
  signed ${int} not null default 0,
  signature text,
  -- Vouchers whose searches run: each write to the channel goes through this row, so two gateways
  -- meet here and never overdraw what is signed.
  reserved ${int} not null default 0 check (reserved >= 0),
  -- Vouchers up to here were dropped with their replies: they buy nothing again.
  floor ${int} not null default 0,
  -- What the contract says, as of the block below.
  balance ${int} not null default 0,
  claimed ${int} not null default 0,
  refund_nonce ${int} not null default 0,
  withdraw_amount ${int},
  withdraw_initiated_at_seconds ${int},
  state_block ${int},
  state_block_hash text,
  -- The balance as of a block at or below the safe head: more than a little beyond it is not spent.
  safe_balance ${int} not null default 0,
  -- Since when a refund is signed and not final: no voucher is taken meanwhile.
  frozen_at ${int},
  check (charged <= signed)
) ${strict}`;

/** Finds what could be claimed, without reading channels that are done with. */
const CHANNELS_UNCLAIMED = `create index channels_unclaimed on channels (chain_id)
  where charged > claimed`;

/** Finds what the watcher has to look at again: state that a reorganization may still change. */
const CHANNELS_UNSAFE = `create index channels_unsafe on channels (chain_id)
  where safe_balance <> balance or withdraw_initiated_at_seconds is not null
    or frozen_at is not null`;

const CHANNELS_BY_PAYER = `create index channels_by_payer on channels (payer)`;

const channelVouchers = ({ int, bytes, strict }: SqlWords) => `create table channel_vouchers (
  channel_id text not null references channels (id),
  -- What the voucher promises in all. (channel, cumulative) buys at most one search: this key
  -- decides every race, over any number of gateways.
  cumulative ${int} not null,
  -- Hash of the request that it pays for: for another one it is refused.
  binding text not null,
  -- The request that reserved it; replays answer under the same id.
  request_id text not null,
  -- The gateway process that runs the search: when it is dead, the reservation is void.
  owner text not null,
  -- What the search costs.
  price ${int} not null check (price > 0),
  reserved_at ${int} not null,
  -- The deposit that it came with, if any: it is charged once that has settled, and void once that
  -- has failed or was released.
  payment_id text,
  -- Set with everything below in one commit, which also charges the channel.
  charged_at ${int},
  -- The exact bytes of the 200, so that every presenter gets the same; null again once pruned.
  reply_body ${bytes},
  -- The channel as the receipt tells it: the same voucher gets the same receipt.
  charged_after ${int},
  balance_after ${int},
  claimed_after ${int},
  refund_nonce_after ${int},
  primary key (channel_id, cumulative)
) ${strict}`;

/** Finds reservations, which are few: those of dead processes, and those of deposits. */
const VOUCHERS_OPEN = `create index channel_vouchers_open on channel_vouchers (channel_id)
  where charged_at is null`;

/** Finds the voucher of a deposit that has settled, failed or was released. */
const VOUCHERS_OF_DEPOSITS = `create index channel_vouchers_of_deposits
  on channel_vouchers (payment_id) where payment_id is not null and charged_at is null`;

/** Finds replies whose time has passed among those that are kept. */
const VOUCHERS_REPLIES = `create index channel_vouchers_replies on channel_vouchers (charged_at)
  where reply_body is not null`;

const VOUCHERS_BY_TIME = `create index channel_vouchers_by_time on channel_vouchers (charged_at)
  where charged_at is not null`;

const channelSyncs = ({ int, strict }: SqlWords) => `create table channel_syncs (
  chain_id ${int} not null primary key,
  -- The contract's events are known up to this block.
  synced_block ${int} not null,
  -- No reorganization is expected at or below it: events are read again from here on.
  safe_block ${int} not null,
  -- When that was found out: vouchers are taken only for so long after it.
  synced_at ${int} not null
) ${strict}`;

/** The generation of the index that a kept reply was found in, for its receipt. */
const VOUCHERS_GENERATION = ({ int }: SqlWords) =>
  `alter table channel_vouchers add column reply_generation ${int}`;

/** The channels' part of the schema. */
export const CHANNEL_MIGRATIONS: readonly Migration[] = [
  {
    name: 'channels-001-books',
    statements: (words) => [
      channels(words),
      CHANNELS_UNCLAIMED,
      CHANNELS_UNSAFE,
      CHANNELS_BY_PAYER,
      channelVouchers(words),
      VOUCHERS_OPEN,
      VOUCHERS_OF_DEPOSITS,
      VOUCHERS_REPLIES,
      VOUCHERS_BY_TIME,
      channelSyncs(words),
    ],
  },
  { name: 'channels-002-generations', statements: (words) => [VOUCHERS_GENERATION(words)] },
];
