import type { Bytes32, Hex } from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';
import type { ChannelRow, ChannelTx, VoucherRow } from './tables.js';
import { chargedOf, type ChargedVoucher, type VoucherReservation } from './vouchers.js';

/** What names a voucher. */
export interface VoucherName {
  readonly channelId: Bytes32;
  readonly cumulative: bigint;
}

/** A voucher, and the request that has reserved it. */
export interface HeldVoucher extends VoucherName {
  readonly requestId: string;
}

/** What became of a voucher that somebody has presented before. */
export function usedVoucher(
  row: VoucherRow,
  channel: Channel,
): Extract<VoucherReservation, { kind: 'charged' | 'running' }> {
  if (row.charged_at !== null) return { kind: 'charged', voucher: chargedOf(row), channel };
  return {
    kind: 'running',
    binding: row.binding as Hex,
    ...(row.payment_id !== null && { paymentId: row.payment_id }),
    channel,
  };
}

export function selectChannel(db: ChannelTx, channelId: string): Promise<ChannelRow | undefined> {
  return db.selectFrom('channels').selectAll().where('id', '=', channelId).executeTakeFirst();
}

export function selectVoucher(
  db: ChannelTx,
  channelId: string,
  cumulative: bigint,
): Promise<VoucherRow | undefined> {
  return db
    .selectFrom('channel_vouchers')
    .selectAll()
    .where('channel_id', '=', channelId)
    .where('cumulative', '=', cumulative)
    .executeTakeFirst();
}

/** The reservation of this very request, as long as it is one. */
export const own = (tx: ChannelTx, { channelId, cumulative, requestId }: HeldVoucher) =>
  tx
    .updateTable('channel_vouchers')
    .where('channel_id', '=', channelId)
    .where('cumulative', '=', cumulative)
    .where('request_id', '=', requestId)
    .where('charged_at', 'is', null);

export async function addReserved(
  tx: ChannelTx,
  channelId: string,
  change: bigint,
): Promise<ChannelRow> {
  return tx
    .updateTable('channels')
    .set((row) => ({ reserved: row('reserved', '+', change) }))
    .where('id', '=', channelId)
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The reservation is not this request's any more; what the transaction did is undone. */
export class NotHeld extends Error {}

/**
 * Charges a voucher that this request holds, and stores its reply.
 * @throws NotHeld, which has to undo the transaction.
 */
export async function chargeVoucher(
  tx: ChannelTx,
  voucher: HeldVoucher & { readonly price: bigint },
  reply: { readonly body: Uint8Array | null; readonly generation: number | undefined },
  now: bigint,
): Promise<ChargedVoucher> {
  const { channelId, price } = voucher;
  const channel = await tx
    .updateTable('channels')
    .set((row) => ({
      charged: row('charged', '+', price),
      reserved: row('reserved', '-', 1n),
      charged_at: now,
    }))
    .where('id', '=', channelId)
    .where('reserved', '>', 0n)
    .where((row) => row(row('charged', '+', price), '<=', row.ref('signed')))
    .returningAll()
    .executeTakeFirst();
  if (!channel) throw new NotHeld();
  const row = await own(tx, voucher)
    .set({
      charged_at: now,
      reply_body: reply.body,
      reply_generation: reply.generation === undefined ? null : BigInt(reply.generation),
      charged_after: channel.charged,
      balance_after: channel.balance,
      claimed_after: channel.claimed,
      refund_nonce_after: channel.refund_nonce,
    })
    .where('price', '=', price)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw new NotHeld();
  return chargedOf(row);
}

/** Charges the voucher of a deposit that has settled; again it finds what was charged. */
export async function completeDeposit(
  tx: ChannelTx,
  { channelId, cumulative }: VoucherName,
  now: bigint,
): Promise<ChargedVoucher | undefined> {
  const voucher = await selectVoucher(tx, channelId, cumulative);
  if (!voucher) return undefined;
  if (voucher.charged_at !== null) return chargedOf(voucher);
  if (voucher.payment_id === null) return undefined;
  const payment = await tx
    .selectFrom('payments')
    .select(['settled_at', 'preconfirmed_at', 'reply_body', 'reply_generation'])
    .where('id', '=', voucher.payment_id)
    .executeTakeFirst();
  if (!payment || (payment.settled_at ?? payment.preconfirmed_at) === null) return undefined;
  const { request_id: requestId, price } = voucher;
  const held = { channelId, cumulative, requestId, price };
  const { reply_body: body, reply_generation: generation } = payment;
  const reply = { body, generation: generation === null ? undefined : Number(generation) };
  return chargeVoucher(tx, held, reply, now);
}
