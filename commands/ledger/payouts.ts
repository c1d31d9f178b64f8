import { bytesToHex } from 'viem';
import type { Store } from '../../gateway/ground/store/store.js';
import type { ChannelTx } from '../../gateway/money/channel-books/tables.js';
import { BATCH_SETTLEMENT } from '../../gateway/money/claims/contract.js';
import { type ContractAction, readContractCall } from '../../gateway/money/claims/read-call.js';
import type { Movement } from './movement.js';

/** Calls that one query reads; each may be some 50 KB. */
const PAGE = 50;

/** What came of channels by our own calls of the settlement contract, in the chain's order. */
export async function* payoutsOf(store: Store): AsyncGenerator<Movement> {
  const channels = new Accounts();
  for (let offset = 0; ; offset += PAGE) {
    const rows = await page(store, offset);
    for (const row of rows) {
      const told = {
        at: Number(row.mined_at),
        transaction: row.hash,
        ...(row.block_number !== null && { block: row.block_number }),
      };
      for (const action of readContractCall(bytesToHex(row.call_data))) {
        const moved = channels.apply(action);
        if (moved) yield { ...told, ...moved };
      }
    }
    if (rows.length < PAGE) return;
  }
}

function page(store: Store, offset: number) {
  return store.read((db: ChannelTx) =>
    db
      .selectFrom('intents')
      .innerJoin('transactions', 'intents.mined_hash', 'transactions.hash')
      .select(['hash', 'call_data', 'block_number', 'intents.mined_at'])
      .where('purpose', 'in', ['claim', 'refund'])
      .where('intents.mined_at', 'is not', null)
      .where('succeeded', '=', 1n)
      .orderBy('block_number')
      .orderBy('relayer_nonce')
      .orderBy('hash')
      .limit(PAGE)
      .offset(offset)
      .execute(),
  );
}

/**
 * The contract's own books as our calls change them: a claim says how much was claimed in all, and a
 * sweep pays out what has gathered. Wrong only where a stranger has called `settle` in between,
 * which anybody may; the money is ours all the same.
 */
class Accounts {
  readonly #claimed = new Map<string, bigint>();
  readonly #gathered = new Map<string, bigint>();

  apply(action: ContractAction): Omit<Movement, 'at'> | undefined {
    if (action.kind === 'sweep') {
      const key = `${action.receiver} ${action.token}`;
      const amount = this.#gathered.get(key) ?? 0n;
      this.#gathered.set(key, 0n);
      return amount === 0n
        ? undefined
        : { kind: 'payout', payer: BATCH_SETTLEMENT.toLowerCase(), amount, moved: amount };
    }
    const { config } = action;
    const payer = config.payer.toLowerCase();
    if (action.kind === 'refund') {
      return { kind: 'refund', payer, amount: action.amount, moved: action.amount };
    }
    const channel = Object.values(config).join(' ').toLowerCase();
    const fresh = action.totalClaimed - (this.#claimed.get(channel) ?? 0n);
    if (fresh <= 0n) return undefined;
    this.#claimed.set(channel, action.totalClaimed);
    const key = `${config.receiver} ${config.token}`.toLowerCase();
    this.#gathered.set(key, (this.#gathered.get(key) ?? 0n) + fresh);
    return { kind: 'claim', payer, amount: fresh, moved: 0n };
  }
}
