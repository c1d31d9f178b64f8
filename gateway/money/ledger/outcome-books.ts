import type { Clock } from '../../ground/domain/ports.js';
import type { Bytes32, TransactionHash } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { type CodeCall, recordCodeCalls } from './code-payers.js';
import type { Payment } from './payment.js';
import { mayFail, mayFinalize, mayPreconfirm, mayRetry, maySettle } from './status.js';
import { type LedgerTx, transition, type Transition } from './transition.js';

/** Where a mined transaction is, and what it did and cost. */
export interface MinedFacts {
  readonly hash: TransactionHash;
  readonly block: { readonly number: bigint; readonly hash: Bytes32 };
  readonly succeeded: boolean;
  readonly gasUsed: bigint;
  /** Wei per gas. */
  readonly gasPrice: bigint;
  /** Wei for publishing it on the layer below, beyond its gas. */
  readonly publishingFee: bigint;
}

/** What became of payments that went out: mined, adopted, tried again, failed, final. */
export class OutcomeBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /**
   * Records the receipt of an intent's transaction together with the payments whose transfers its
   * logs prove. The others stay open: their calls failed for a reason still to be found. What
   * payers' code used is in the same commit, so that no crash lets a failure go unpunished.
   */
  recordMined(
    intentId: string,
    mined: MinedFacts,
    transferred: readonly string[],
    codeCalls: readonly CodeCall[],
  ): Promise<void> {
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
          publishing_fee: mined.publishingFee.toString(),
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
      await recordCodeCalls(tx, codeCalls, now);
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
