import { sql } from 'kysely';
import type { Store } from '../../gateway/ground/store/store.js';
import type { ChannelTx } from '../../gateway/money/channel-books/tables.js';
import type { Movement } from './movement.js';

/** Rows that one query reads: the books may be larger than the memory. */
const PAGE = 500;

/** Searches that vouchers were charged for, in order of time. */
export async function* vouchersOf(store: Store): AsyncGenerator<Movement> {
  let after = { at: -1n, channel: '', cumulative: -1n };
  for (;;) {
    const { at, channel, cumulative } = after;
    const rows = await store.read((db: ChannelTx) =>
      db
        .selectFrom('channel_vouchers')
        .innerJoin('channels', 'channels.id', 'channel_vouchers.channel_id')
        .select(['channel_id', 'cumulative', 'channel_vouchers.charged_at', 'price', 'payer'])
        .select('request_id')
        .where('channel_vouchers.charged_at', 'is not', null)
        .where(
          sql<boolean>`(channel_vouchers.charged_at, channel_id, cumulative)
            > (${at}, ${channel}, ${cumulative})`,
        )
        .orderBy('channel_vouchers.charged_at')
        .orderBy('channel_id')
        .orderBy('cumulative')
        .limit(PAGE)
        .execute(),
    );
    for (const row of rows) {
      const chargedAt = row.charged_at ?? 0n;
      after = { at: chargedAt, channel: row.channel_id, cumulative: row.cumulative };
      yield {
        at: Number(chargedAt),
        kind: 'voucher charge',
        payer: row.payer,
        amount: row.price,
        moved: 0n,
        requestId: row.request_id,
      };
    }
    if (rows.length < PAGE) return;
  }
}

/** What our mined transactions cost, failed ones too, in order of time. */
export async function* gasOf(store: Store): AsyncGenerator<Movement> {
  let after = { at: -1n, hash: '' };
  for (;;) {
    const { at, hash } = after;
    const rows = await store.read((db: ChannelTx) =>
      db
        .selectFrom('transactions')
        .innerJoin('intents', 'intents.mined_hash', 'transactions.hash')
        .select(['hash', 'relayer', 'block_number', 'gas_used', 'gas_price', 'publishing_fee'])
        .select('intents.mined_at')
        .where('intents.mined_at', 'is not', null)
        .where(sql<boolean>`(intents.mined_at, hash) > (${at}, ${hash})`)
        .orderBy('intents.mined_at')
        .orderBy('hash')
        .limit(PAGE)
        .execute(),
    );
    for (const row of rows) {
      const minedAt = row.mined_at ?? 0n;
      after = { at: minedAt, hash: row.hash };
      if (row.gas_used === null || row.gas_price === null) continue;
      const used = BigInt(row.gas_used);
      const costWei = used * BigInt(row.gas_price) + BigInt(row.publishing_fee ?? '0');
      yield {
        at: Number(minedAt),
        kind: 'gas',
        payer: row.relayer,
        transaction: row.hash,
        ...(row.block_number !== null && { block: row.block_number }),
        gas: { used, costWei },
      };
    }
    if (rows.length < PAGE) return;
  }
}
