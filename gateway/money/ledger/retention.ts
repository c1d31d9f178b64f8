import type { Clock } from '../../ground/domain/ports.js';
import type { Store } from '../../ground/store/store.js';
import type { LedgerTx } from './transition.js';

/** How long the books keep what nobody needs for the money any more. */
export interface Retention {
  /** Milliseconds after the settlement for which the reply can be fetched again. */
  readonly replyMs: number;
  /**
   * Milliseconds after its `validBefore` for which a payment's row is kept. The row is what
   * refuses a used authorization without asking the chain, so it must outlive the window by more
   * than any reorganization and clock skew; a year keeps the books, too.
   */
  readonly rowMs: number;
}

export const RETENTION: Retention = { replyMs: 3_600_000, rowMs: 365 * 86_400_000 };

/** Rows of one transaction, so that pruning never holds payments up. */
const ROWS_MAX = 500;

/**
 * Drops the replies of payments that settled longer ago than `replyMs`, and those of payments
 * that failed or were released. The facts stay. Returns how many replies went.
 */
export function pruneReplies(
  store: Store,
  clock: Pick<Clock, 'now'>,
  { replyMs }: Retention,
): Promise<number> {
  return store.write(async (tx: LedgerTx) => {
    const before = BigInt(Math.max(clock.now() - replyMs, 0));
    const rows = await tx
      .selectFrom('payments')
      .select('id')
      .where('reply_body', 'is not', null)
      .where((where) =>
        where.or([
          where('settled_at', '<', before),
          where('failed_at', '<', before),
          where('released_at', '<', before),
        ]),
      )
      .limit(ROWS_MAX)
      .execute();
    const ids = rows.map((row) => row.id);
    if (ids.length === 0) return 0;
    await tx.updateTable('payments').set({ reply_body: null }).where('id', 'in', ids).execute();
    return ids.length;
  });
}

/**
 * Deletes payments that are at their end and whose window closed longer ago than `rowMs`.
 * Returns how many went. Transactions stay: relayer nonces are contiguous for ever.
 */
export function pruneRows(
  store: Store,
  clock: Pick<Clock, 'now'>,
  { rowMs }: Retention,
): Promise<number> {
  return store.write(async (tx: LedgerTx) => {
    const beforeSeconds = Math.max(Math.floor((clock.now() - rowMs) / 1000), 0);
    const rows = await tx
      .selectFrom('payments')
      .select('id')
      .where('valid_before_seconds', '<', BigInt(beforeSeconds))
      // Nothing is reserved after its window; this condition has an index.
      .where('reserved_at', '<', BigInt(beforeSeconds * 1000))
      .where((where) =>
        where.or([
          where('final_at', 'is not', null),
          where('failed_at', 'is not', null),
          where('released_at', 'is not', null),
        ]),
      )
      .limit(ROWS_MAX)
      .execute();
    const ids = rows.map((row) => row.id);
    if (ids.length === 0) return 0;
    await tx.deleteFrom('intent_payments').where('payment_id', 'in', ids).execute();
    await tx.deleteFrom('payments').where('id', 'in', ids).execute();
    return ids.length;
  });
}
