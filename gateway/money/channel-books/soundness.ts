import { sql } from 'kysely';
import type { Store } from '../../ground/store/store.js';
import type { ChannelTx } from './tables.js';

/** What must hold of channels at any time: a sentence for each thing that does not. */
export function channelFaults(store: Store): Promise<readonly string[]> {
  return store.read(async (db: ChannelTx) => {
    const rows = await db
      .selectFrom('channels')
      .select(['id', 'charged', 'claimed', 'reserved'])
      .select((query) =>
        query
          .selectFrom('channel_vouchers')
          .select(sql<bigint>`count(*)`.as('open'))
          .whereRef('channel_vouchers.channel_id', '=', 'channels.id')
          .where('channel_vouchers.charged_at', 'is', null)
          .as('open'),
      )
      .execute();
    return rows.flatMap(({ id, charged, claimed, reserved, open }) => [
      ...(claimed > charged ? [`channel ${id} has claimed more than it charged`] : []),
      ...(reserved === (open ?? 0n) ? [] : [`channel ${id} counts ${reserved} open vouchers`]),
    ]);
  });
}
