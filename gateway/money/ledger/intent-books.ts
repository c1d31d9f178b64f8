import type { Address } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { type Intent, type IntentPurpose, loadIntents } from './intents.js';
import type { LedgerTx } from './transition.js';

/** The nonces of relayers: which intents hold them, and which are open. */
export class IntentBooks {
  constructor(private readonly store: Store) {}

  /** The intents of a relayer whose nonce is still open, in order of nonces. */
  open(chainId: number, relayer: Address): Promise<Intent[]> {
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('intents')
        .selectAll()
        .where('chain_id', '=', BigInt(chainId))
        .where('relayer', '=', relayer)
        .where('mined_at', 'is', null)
        .orderBy('relayer_nonce')
        .execute();
      return loadIntents(db, rows);
    });
  }

  /** Whether an intent of this purpose is open, whoever holds its relayer: its bytes may go out. */
  async isOpen(chainId: number, purpose: IntentPurpose): Promise<boolean> {
    const row = await this.store.read((db: LedgerTx) =>
      db
        .selectFrom('intents')
        .select('id')
        .where('chain_id', '=', BigInt(chainId))
        .where('purpose', '=', purpose)
        .where('mined_at', 'is', null)
        .limit(1)
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  /** Whether an open intent carries this payment: its bytes may go out, whoever holds the relayer. */
  async isCarried(paymentId: string): Promise<boolean> {
    const row = await this.store.read((db: LedgerTx) =>
      db
        .selectFrom('intents')
        .innerJoin('intent_payments', 'intent_payments.intent_id', 'intents.id')
        .select('intents.id')
        .where('intent_payments.payment_id', '=', paymentId)
        .where('mined_at', 'is', null)
        .limit(1)
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  /** The nonces from `from` on that the books know for a relayer. */
  async noncesFrom(chainId: number, relayer: Address, from: bigint): Promise<Set<bigint>> {
    const rows = await this.store.read((db: LedgerTx) =>
      db
        .selectFrom('intents')
        .select('relayer_nonce')
        .where('chain_id', '=', BigInt(chainId))
        .where('relayer', '=', relayer)
        .where('relayer_nonce', '>=', from)
        .execute(),
    );
    return new Set(rows.map((row) => row.relayer_nonce));
  }

  /** The highest nonce that the books know for a relayer. */
  async lastNonce(chainId: number, relayer: Address): Promise<bigint | undefined> {
    const row = await this.store.read((db: LedgerTx) =>
      db
        .selectFrom('intents')
        .select('relayer_nonce')
        .where('chain_id', '=', BigInt(chainId))
        .where('relayer', '=', relayer)
        .orderBy('relayer_nonce', 'desc')
        .limit(1)
        .executeTakeFirst(),
    );
    return row?.relayer_nonce;
  }

  /**
   * Opens the intents of a relayer again that count as mined although the chain has not used their
   * nonces, from `used` on: a reorganization took their transactions back. Returns how many.
   */
  async reopen(chainId: number, relayer: Address, used: bigint): Promise<number> {
    const vanished = await this.store.read((db: LedgerTx) =>
      vanishedIntents(db, chainId, relayer, used),
    );
    if (vanished.length === 0) return 0;
    return this.store.write(async (tx: LedgerTx) => {
      const changes = { mined_at: null, mined_hash: null };
      await tx.updateTable('intents').set(changes).where('id', 'in', vanished).execute();
      return vanished.length;
    });
  }
}

async function vanishedIntents(
  db: LedgerTx,
  chainId: number,
  relayer: Address,
  used: bigint,
): Promise<string[]> {
  const rows = await db
    .selectFrom('intents')
    .select('id')
    .where('chain_id', '=', BigInt(chainId))
    .where('relayer', '=', relayer)
    .where('relayer_nonce', '>=', used)
    .where('mined_at', 'is not', null)
    .execute();
  return rows.map((row) => row.id);
}
