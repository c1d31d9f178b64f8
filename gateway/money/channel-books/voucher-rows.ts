import type { Bytes32, Hex } from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';
import { statement } from '../../ground/store/statement.js';
import type { ChannelRow, ChannelTables, ChannelTx, VoucherRow } from './tables.js';
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

const channelById = statement<ChannelTables, { id: string }, ChannelRow>((db, { id }) =>
  db.selectFrom('channels').selectAll().where('id', '=', id),
);

export async function selectChannel(
  db: ChannelTx,
  channelId: string,
): Promise<ChannelRow | undefined> {
  const [row] = await channelById(db, { id: channelId });
  return row;
}

const voucherByName = statement<ChannelTables, VoucherName, VoucherRow>(
  (db, { channelId, cumulative }) =>
    db
      .selectFrom('channel_vouchers')
      .selectAll()
      .where('channel_id', '=', channelId)
      .where('cumulative', '=', cumulative),
);

export async function selectVoucher(
  db: ChannelTx,
  channelId: Bytes32,
  cumulative: bigint,
): Promise<VoucherRow | undefined> {
  const [row] = await voucherByName(db, { channelId, cumulative });
  return row;
}

/** The reservation of this very request, as long as it is one. */
export const own = (tx: ChannelTx, { channelId, cumulative, requestId }: HeldVoucher) =>
  tx
    .updateTable('channel_vouchers')
    .where('channel_id', '=', channelId)
    .where('cumulative', '=', cumulative)
    .where('request_id', '=', requestId)
    .where('charged_at', 'is', null);

interface NewVoucher extends HeldVoucher {
  readonly binding: string;
  readonly owner: string;
  readonly price: bigint;
  readonly now: bigint;
}

/** Returns nothing where the voucher was presented before. */
export const insertVoucher = statement<ChannelTables, NewVoucher, { cumulative: bigint }>(
  (db, voucher) =>
    db
      .insertInto('channel_vouchers')
      .values({
        channel_id: voucher.channelId,
        cumulative: voucher.cumulative,
        binding: voucher.binding,
        request_id: voucher.requestId,
        owner: voucher.owner,
        price: voucher.price,
        reserved_at: voucher.now,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('cumulative'),
);

/** Writes how many vouchers of a channel are reserved, and the highest of all that were signed. */
export const countReservation = statement<
  ChannelTables,
  Pick<ChannelRow, 'id' | 'reserved' | 'signed' | 'signature'>,
  unknown
>((db, { id, reserved, signed, signature }) =>
  db.updateTable('channels').set({ reserved, signed, signature }).where('id', '=', id),
);

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

interface ChannelCharge {
  readonly channelId: Bytes32;
  readonly price: bigint;
  readonly now: bigint;
}

type AfterCharge = Pick<ChannelRow, 'charged' | 'balance' | 'claimed' | 'refund_nonce'>;

const chargeChannel = statement<ChannelTables, ChannelCharge, AfterCharge>(
  (db, { channelId, price, now }) =>
    db
      .updateTable('channels')
      .set((row) => ({
        charged: row('charged', '+', price),
        reserved: row('reserved', '-', 1n),
        charged_at: now,
      }))
      .where('id', '=', channelId)
      .where('reserved', '>', 0n)
      .where((row) => row(row('charged', '+', price), '<=', row.ref('signed')))
      .returning(['charged', 'balance', 'claimed', 'refund_nonce']),
);

interface VoucherCharge extends HeldVoucher, Pick<ChannelRow, 'charged' | 'balance' | 'claimed'> {
  readonly price: bigint;
  readonly now: bigint;
  readonly body: Uint8Array | null;
  readonly generation: bigint | null;
  readonly refundNonce: bigint;
}

/** Returns what the voucher is bound to; the reply itself is not read again. */
const keepReply = statement<
  ChannelTables,
  VoucherCharge,
  Omit<VoucherRow, 'reply_body' | 'reply_generation'>
>((db, charge) =>
  own(db, charge)
    .set({
      charged_at: charge.now,
      reply_body: charge.body,
      reply_generation: charge.generation,
      charged_after: charge.charged,
      balance_after: charge.balance,
      claimed_after: charge.claimed,
      refund_nonce_after: charge.refundNonce,
    })
    .where('price', '=', charge.price)
    .returning([
      ...(['channel_id', 'cumulative', 'binding', 'request_id', 'owner', 'price'] as const),
      ...(['reserved_at', 'payment_id', 'charged_at', 'charged_after'] as const),
      ...(['balance_after', 'claimed_after', 'refund_nonce_after'] as const),
    ]),
);

/**
 * Charges a voucher that this request holds, and stores its reply.
 * @throws NotHeld, which has to undo the transaction.
 */
export async function chargeVoucher(
  tx: ChannelTx,
  voucher: HeldVoucher & { readonly price: bigint },
  reply: { readonly body: Uint8Array | null; readonly generation: bigint | null },
  now: bigint,
): Promise<ChargedVoucher> {
  const { channelId, cumulative, requestId, price } = voucher;
  const [channel] = await chargeChannel(tx, { channelId, price, now });
  if (!channel) throw new NotHeld();
  const { charged, balance, claimed, refund_nonce: refundNonce } = channel;
  const held = { channelId, cumulative, requestId, price };
  const [row] = await keepReply(tx, {
    ...held,
    ...{ charged, balance, claimed, refundNonce, now, ...reply },
  });
  if (!row) throw new NotHeld();
  return chargedOf({ ...row, reply_body: reply.body, reply_generation: reply.generation });
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
  const reply = { body: payment.reply_body, generation: payment.reply_generation };
  return chargeVoucher(tx, held, reply, now);
}
