import type { Generated, Kysely } from 'kysely';
import {
  address,
  bytes32,
  unixMillis,
  unixSeconds,
  usdcUnits,
  type Hex,
} from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';
import type { LedgerTables } from '../ledger/tables.js';

/** The tables of channels as both engines return them; the migrations say why each column exists. */
export interface ChannelTables extends Pick<LedgerTables, 'payments' | 'intents' | 'transactions'> {
  channels: ChannelsTable;
  channel_vouchers: VouchersTable;
  channel_syncs: { chain_id: bigint; synced_block: bigint; safe_block: bigint; synced_at: bigint };
}

export type ChannelTx = Kysely<ChannelTables>;

export interface ChannelsTable {
  id: string;
  chain_id: bigint;
  payer: string;
  payer_authorizer: string;
  receiver: string;
  receiver_authorizer: string;
  token: string;
  withdraw_delay_seconds: bigint;
  salt: string;
  created_at: bigint;
  charged_at: bigint | null;
  charged: Generated<bigint>;
  signed: Generated<bigint>;
  signature: string | null;
  reserved: Generated<bigint>;
  floor: Generated<bigint>;
  balance: Generated<bigint>;
  claimed: Generated<bigint>;
  refund_nonce: Generated<bigint>;
  withdraw_amount: bigint | null;
  withdraw_initiated_at_seconds: bigint | null;
  state_block: bigint | null;
  state_block_hash: string | null;
  safe_balance: Generated<bigint>;
  frozen_at: bigint | null;
}

export interface VouchersTable {
  channel_id: string;
  cumulative: bigint;
  binding: string;
  request_id: string;
  owner: string;
  price: bigint;
  reserved_at: bigint;
  payment_id: string | null;
  charged_at: bigint | null;
  reply_body: Uint8Array | null;
  reply_generation: bigint | null;
  charged_after: bigint | null;
  balance_after: bigint | null;
  claimed_after: bigint | null;
  refund_nonce_after: bigint | null;
}

type Selected<Table> = {
  [Column in keyof Table]: Table[Column] extends Generated<infer Value> ? Value : Table[Column];
};

export type ChannelRow = Selected<ChannelsTable>;
export type VoucherRow = Selected<VouchersTable>;

/** A row of the books as the rest of the gateway knows it. */
export function channelOf(row: ChannelRow): Channel {
  const { withdraw_amount: amount, withdraw_initiated_at_seconds: initiated } = row;
  return {
    id: bytes32(row.id),
    chainId: Number(row.chain_id),
    config: {
      payer: address(row.payer),
      payerAuthorizer: address(row.payer_authorizer),
      receiver: address(row.receiver),
      receiverAuthorizer: address(row.receiver_authorizer),
      token: address(row.token),
      withdrawDelay: Number(row.withdraw_delay_seconds),
      salt: bytes32(row.salt),
    },
    charged: usdcUnits(row.charged),
    signed: usdcUnits(row.signed),
    reserved: Number(row.reserved),
    floor: usdcUnits(row.floor),
    safeBalance: usdcUnits(row.safe_balance),
    ...(row.signature !== null && { signature: row.signature as Hex }),
    ...(row.frozen_at !== null && { frozenAt: unixMillis(Number(row.frozen_at)) }),
    onChain: {
      balance: usdcUnits(row.balance),
      claimed: usdcUnits(row.claimed),
      refundNonce: row.refund_nonce,
      ...(amount !== null &&
        initiated !== null && {
          withdrawal: { amount: usdcUnits(amount), initiatedAt: unixSeconds(Number(initiated)) },
        }),
      ...(row.state_block !== null &&
        row.state_block_hash !== null && {
          block: { number: row.state_block, hash: bytes32(row.state_block_hash) },
        }),
    },
  };
}
