import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { ChannelTx } from './tables.js';

/** How long the books keep what a channel's vouchers have bought, in milliseconds after the charge. */
export interface VoucherRetention {
  /** Its reply, which the same voucher fetches again. */
  readonly replyMs: number;
  /** Its row, which answers a stale voucher with the receipt that heals its client. */
  readonly rowMs: number;
}

/** Rows of one transaction, so that pruning never holds searches up. */
const ROWS_MAX = 500;

/**
 * Drops replies whose time has passed. Returns how many went; where that is the most that one call
 * drops, there may be more.
 */
export function pruneVoucherReplies(
  store: Store,
  clock: Pick<Clock, 'now'>,
  { replyMs }: VoucherRetention,
): Promise<number> {
  return store.write(async (tx: ChannelTx) => {
    const rows = await tx
      .selectFrom('channel_vouchers')
      .select(['channel_id', 'cumulative'])
      .where('reply_body', 'is not', null)
      .where('charged_at', '<', BigInt(Math.max(clock.now() - replyMs, 0)))
      .limit(ROWS_MAX)
      .execute();
    for (const { channel_id, cumulative } of rows) {
      await tx
        .updateTable('channel_vouchers')
        .set({ reply_body: null })
        .where('channel_id', '=', channel_id)
        .where('cumulative', '=', cumulative)
        .execute();
    }
    return rows.length;
  });
}

/**
 * Drops vouchers whose time has passed. Each leaves its channel a floor, so that a value at or below
 * it buys nothing again: what is forgotten here is only the reply to it.
 */
export function pruneVouchers(
  store: Store,
  clock: Pick<Clock, 'now'>,
  { rowMs }: VoucherRetention,
): Promise<number> {
  return store.write(async (tx: ChannelTx) => {
    const rows = await tx
      .selectFrom('channel_vouchers')
      .select(['channel_id', 'cumulative'])
      .where('charged_at', '<', BigInt(Math.max(clock.now() - rowMs, 0)))
      .orderBy('charged_at')
      .limit(ROWS_MAX)
      .execute();
    for (const { channel_id, cumulative } of rows) {
      await tx
        .updateTable('channels')
        .set({ floor: cumulative })
        .where('id', '=', channel_id)
        .where('floor', '<', cumulative)
        .execute();
      await tx
        .deleteFrom('channel_vouchers')
        .where('channel_id', '=', channel_id)
        .where('cumulative', '=', cumulative)
        .execute();
    }
    return rows.length;
  });
}
