import { sql } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { TransactionHash } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { NewIntent, NewTransaction } from './intents.js';
import { holdsLane, type LaneLease } from './leases.js';
import { mayBroadcast, mayHandOver, maySign, type TransitionRefusal } from './status.js';
import { type LedgerTx, transition, type Transition } from './transition.js';

export type Signing =
  | { readonly kind: 'recorded' }
  /** This payment may not be signed (any more); nothing of the intent was recorded. */
  | { readonly kind: 'refused'; readonly paymentId: string; readonly because: TransitionRefusal }
  /** The relayer key is another process's now: nothing may be signed with it here. */
  | { readonly kind: 'lease-lost' };

class SigningRefused extends Error {
  constructor(readonly refusal: Exclude<Signing, { kind: 'recorded' }>) {
    super(refusal.kind);
  }
}

/** How a served payment goes out: signed, replaced, broadcast, or handed to a facilitator. */
export class SigningBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /**
   * Commits an intent with its first transaction and the payments it carries, by call index.
   * Nothing may be broadcast before this resolves with `recorded`.
   */
  async recordSigned(
    intent: NewIntent,
    transaction: NewTransaction,
    paymentIds: readonly string[],
    lease: LaneLease,
  ): Promise<Signing> {
    try {
      return await this.store.write(async (tx: LedgerTx): Promise<Signing> => {
        if (!(await holdsLane(tx, lease))) throw new SigningRefused({ kind: 'lease-lost' });
        const now = BigInt(this.clock.now());
        await tx.insertInto('intents').values(intentRow(intent, now)).execute();
        await tx.insertInto('transactions').values(transactionRow(transaction, now)).execute();
        for (const [index, id] of paymentIds.entries()) {
          const changes = { signed_at: now, transaction_hash: transaction.hash };
          const signed = await transition(tx, id, maySign, changes);
          if (signed.kind === 'refused') throw new SigningRefused({ ...signed, paymentId: id });
          await tx
            .insertInto('intent_payments')
            .values({ intent_id: intent.id, call_index: BigInt(index), payment_id: id })
            .execute();
        }
        return { kind: 'recorded' };
      });
    } catch (error) {
      if (error instanceof SigningRefused) return error.refusal;
      throw error;
    }
  }

  /**
   * Commits a transaction that takes another's place at the same nonce, before its broadcast.
   * False when the relayer key is another process's now: then it must not be broadcast.
   */
  recordReplacement(transaction: NewTransaction, lease: LaneLease): Promise<boolean> {
    return this.store.write(async (tx: LedgerTx) => {
      if (!(await holdsLane(tx, lease))) return false;
      const now = BigInt(this.clock.now());
      await tx.insertInto('transactions').values(transactionRow(transaction, now)).execute();
      for (const id of await carriedBy(tx, transaction.intentId)) {
        await transition(tx, id, mayBroadcast, { transaction_hash: transaction.hash });
      }
      return true;
    });
  }

  /** Records that a transaction was handed to the chain, for the first time or again. */
  recordBroadcast(hash: TransactionHash): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const now = BigInt(this.clock.now());
      const row = await tx
        .updateTable('transactions')
        .set({ broadcast_at: now, broadcasts: sql`broadcasts + 1` })
        .where('hash', '=', hash)
        .returning('intent_id')
        .executeTakeFirstOrThrow();
      for (const id of await carriedBy(tx, row.intent_id)) {
        await transition(tx, id, mayBroadcast, { broadcast_at: now });
      }
    });
  }

  /** Records that a facilitator is about to get a payment. Nothing may be sent before this is durable. */
  recordHandedOver(paymentId: string): Promise<Transition> {
    const now = BigInt(this.clock.now());
    return this.store.write((tx: LedgerTx) =>
      transition(tx, paymentId, mayHandOver, ({ facts, failedCalls }) => ({
        signed_at: now,
        broadcast_at: now,
        transaction_hash: null,
        failed_calls: BigInt(facts.signedAt === undefined ? failedCalls : failedCalls + 1),
      })),
    );
  }

  /** Records the transaction that a facilitator has named; the chain has yet to show it. */
  recordNamed(paymentId: string, hash: TransactionHash): Promise<Transition> {
    return this.store.write((tx: LedgerTx) =>
      transition(tx, paymentId, mayBroadcast, { transaction_hash: hash }),
    );
  }
}

async function carriedBy(tx: LedgerTx, intentId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('intent_payments')
    .select('payment_id')
    .where('intent_id', '=', intentId)
    .execute();
  return rows.map((row) => row.payment_id);
}

const intentRow = (intent: NewIntent, now: bigint) => ({
  id: intent.id,
  chain_id: BigInt(intent.chainId),
  relayer: intent.relayer,
  relayer_nonce: intent.nonce,
  purpose: intent.purpose,
  call_to: intent.to,
  call_data: intent.data,
  gas_limit: intent.gasLimit.toString(),
  created_at: now,
});

const transactionRow = (transaction: NewTransaction, now: bigint) => ({
  hash: transaction.hash,
  intent_id: transaction.intentId,
  raw: transaction.raw,
  max_fee_per_gas: transaction.maxFeePerGas.toString(),
  max_priority_fee_per_gas: transaction.maxPriorityFeePerGas.toString(),
  replaces: transaction.replaces ?? null,
  signed_at: now,
});
