import { sql } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Bytes32, TransactionHash, UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { CodePayerBooks } from './code-payers.js';
import { FailureBooks } from './failures.js';
import { HandoverBooks } from './handover-books.js';
import { holdsLane, type LaneLease, LeaseBooks } from './leases.js';
import { IntentBooks } from './intent-books.js';
import type { NewIntent, NewTransaction } from './intents.js';
import type { Payment } from './payment.js';
import { ReorgBooks } from './reorg-books.js';
import { pruneReplies, pruneRows, type Retention } from './retention.js';
import {
  mayBroadcast,
  mayFail,
  mayFinalize,
  mayHandOver,
  mayPreconfirm,
  mayRelease,
  mayRetry,
  maySettle,
  maySign,
  type TransitionRefusal,
} from './status.js';
import { millis, paymentOf } from './tables.js';
import { type LedgerTx, transition, type Transition } from './transition.js';

/** Where a mined transaction is, and what it did and cost. */
export interface MinedFacts {
  readonly hash: TransactionHash;
  readonly block: { readonly number: bigint; readonly hash: Bytes32 };
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  /** Wei per gas. */
  readonly gasPrice: bigint;
}

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

/** The books as the settlement keeps them: every step of moving the money, each one durable. */
export class TransferBooks {
  readonly leases: LeaseBooks;
  readonly failures: FailureBooks;
  readonly handover: HandoverBooks;
  readonly intents: IntentBooks;
  readonly reorgs: ReorgBooks;
  readonly codePayers: CodePayerBooks;

  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.leases = new LeaseBooks(store, clock);
    this.failures = new FailureBooks(store, clock);
    this.handover = new HandoverBooks(store);
    this.intents = new IntentBooks(store);
    this.reorgs = new ReorgBooks(store, clock);
    this.codePayers = new CodePayerBooks(store, clock);
  }

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

  /**
   * Records the receipt of an intent's transaction together with the payments whose transfers its
   * logs prove. The others stay open: their calls failed for a reason still to be found.
   */
  recordMined(intentId: string, mined: MinedFacts, transferred: readonly string[]): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const now = BigInt(this.clock.now());
      await tx
        .updateTable('transactions')
        .set({
          mined_at: now,
          block_number: mined.block.number,
          block_hash: mined.block.hash,
          succeeded: mined.succeeded ? 1n : 0n,
          gas_used: mined.gasUsed.toString(),
          gas_price: mined.gasPrice.toString(),
        })
        .where('hash', '=', mined.hash)
        .execute();
      await tx
        .updateTable('intents')
        .set({ mined_at: now, mined_hash: mined.hash })
        .where('id', '=', intentId)
        .execute();
      for (const id of transferred) {
        await transition(tx, id, maySettle, settledBy(mined.hash, mined.block, now));
      }
    });
  }

  /**
   * Records payments whose transfers are in a block that is still being made. Their intent stays
   * open: it ends with the receipt of a finished block.
   */
  recordPreconfirmed(
    hash: TransactionHash,
    block: MinedFacts['block'],
    transferred: readonly string[],
  ): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const changes = {
        preconfirmed_at: BigInt(this.clock.now()),
        transaction_hash: hash,
        block_number: block.number,
        block_hash: block.hash,
      };
      for (const id of transferred) await transition(tx, id, mayPreconfirm, changes);
    });
  }

  /** Records that a transaction which is not ours took the nonce: the intent can never be mined. */
  recordSuperseded(intentId: string): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const changes = { mined_at: BigInt(this.clock.now()), mined_hash: null };
      await tx.updateTable('intents').set(changes).where('id', '=', intentId).execute();
    });
  }

  /** Adopts a transfer that a third party made with the payer's authorization. */
  recordAdopted(
    paymentId: string,
    hash: TransactionHash,
    block: MinedFacts['block'],
  ): Promise<Transition> {
    return this.store.write((tx: LedgerTx) =>
      transition(tx, paymentId, maySettle, settledBy(hash, block, BigInt(this.clock.now()))),
    );
  }

  /**
   * Gives a payment whose call failed back to the queue, for one more attempt.
   * @param found the payment as it was when it was looked into; refused when it was signed since.
   */
  recordRetry(found: Payment): Promise<Transition> {
    return this.store.write((tx: LedgerTx) =>
      transition(tx, found.id, asFound(found, mayRetry), ({ failedCalls }) => ({
        signed_at: null,
        broadcast_at: null,
        transaction_hash: null,
        failed_calls: BigInt(failedCalls + 1),
      })),
    );
  }

  /** @param found as for `recordRetry`: a transaction that carries it may still be made. */
  recordFailed(found: Payment, reason: string): Promise<Transition> {
    const changes = { failed_at: BigInt(this.clock.now()), reason };
    return this.store.write((tx: LedgerTx) =>
      transition(tx, found.id, asFound(found, mayFail), changes),
    );
  }

  /** Records that these transfers are at or below the safe head. */
  recordFinal(paymentIds: readonly string[]): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const changes = { final_at: BigInt(this.clock.now()) };
      for (const id of paymentIds) await transition(tx, id, mayFinalize, changes);
    });
  }

  /**
   * Releases reservations whose searches will never be answered: `isVoid` is asked for each, with
   * its owner and its time.
   */
  releaseAbandoned(isVoid: (owner: string, reservedAt: UnixMillis) => boolean): Promise<number> {
    return this.store.write(async (tx: LedgerTx) => {
      const rows = await tx
        .selectFrom('payments')
        .select(['id', 'owner', 'reserved_at'])
        .where('served_at', 'is', null)
        .where('released_at', 'is', null)
        .where('failed_at', 'is', null)
        .where('settled_at', 'is', null)
        .execute();
      const abandoned = rows.filter((row) => isVoid(row.owner, millis(row.reserved_at)));
      const changes = { released_at: BigInt(this.clock.now()), reason: 'search_abandoned' };
      for (const { id } of abandoned) await transition(tx, id, mayRelease, changes);
      return abandoned.length;
    });
  }

  /** Drops what is kept longer than it has to be; returns how many replies and rows went. */
  async prune(retention: Retention): Promise<number> {
    await this.codePayers.prune();
    const replies = await pruneReplies(this.store, this.clock, retention);
    return replies + (await pruneRows(this.store, this.clock, retention));
  }

  /** Takes over an open payment of a dead process; of all who try, exactly one gets true. */
  claim(paymentId: string, from: string, to: string): Promise<boolean> {
    return this.store.write(async (tx: LedgerTx) => {
      const claimed = await tx
        .updateTable('payments')
        .set({ owner: to })
        .where('id', '=', paymentId)
        .where('owner', '=', from)
        .returning('id')
        .executeTakeFirst();
      return claimed !== undefined;
    });
  }

  /** Payments that were served and are not at an end, the closest deadline first. */
  openPayments(): Promise<Payment[]> {
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('payments')
        .selectAll()
        .where('released_at', 'is', null)
        .where('failed_at', 'is', null)
        .where('settled_at', 'is', null)
        .where('served_at', 'is not', null)
        .orderBy('valid_before_seconds')
        .execute();
      return rows.map(paymentOf);
    });
  }

  /** Payments that settled but are not final yet, the oldest block first, at most `limit`. */
  unfinalPayments(limit: number): Promise<Payment[]> {
    return this.store.read(async (db: LedgerTx) => {
      const rows = await db
        .selectFrom('payments')
        .selectAll()
        .where('settled_at', 'is not', null)
        .where('final_at', 'is', null)
        .orderBy('block_number')
        .limit(limit)
        .execute();
      return rows.map(paymentOf);
    });
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

/** What was found out about a payment holds until it is signed again. */
const asFound =
  ({ facts: found }: Payment, may: typeof mayFail): typeof mayFail =>
  (facts) =>
    may(facts) ?? (facts.signedAt === found.signedAt ? undefined : 'already_signed');

const settledBy = (hash: TransactionHash, block: MinedFacts['block'], now: bigint) => ({
  settled_at: now,
  transaction_hash: hash,
  block_number: block.number,
  block_hash: block.hash,
});

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
