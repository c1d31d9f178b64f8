import type { Clock } from '../../ground/domain/ports.js';
import type { TransactionHash } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { Payment } from './payment.js';
import { mayReorg, mayVanish } from './status.js';
import { type LedgerTx, transition } from './transition.js';

/** What reorganizations, and blocks that were finished otherwise than shown, take back. */
export class ReorgBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /**
   * Takes back what was recorded about a transaction that is no longer in the chain: its payments
   * are `reorged`, and its intent, if it is ours, is open again.
   */
  recordGone(hash: TransactionHash): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const unmined = { mined_at: null, block_number: null, block_hash: null, succeeded: null };
      await tx.updateTable('transactions').set(unmined).where('hash', '=', hash).execute();
      const own = await tx
        .updateTable('intents')
        .set({ mined_at: null, mined_hash: null })
        .where('mined_hash', '=', hash)
        .returning('id')
        .executeTakeFirst();
      const settled = await tx
        .selectFrom('payments')
        .select('id')
        .where('transaction_hash', '=', hash)
        .where('settled_at', 'is not', null)
        .where('final_at', 'is', null)
        .execute();
      const ids = settled.map(({ id }) => id);
      await takeBack(tx, ids, own !== undefined, BigInt(this.clock.now()));
    });
  }

  /**
   * A settled transaction turned up in another block than before. These of its payments were not
   * made there, because their calls failed this time: they are `reorged`. The others are as settled
   * as they were.
   */
  recordMoved(
    hash: TransactionHash,
    block: NonNullable<Payment['block']>,
    unmade: readonly string[],
  ): Promise<void> {
    const place = { block_number: block.number, block_hash: block.hash };
    return this.store.write(async (tx: LedgerTx) => {
      const own = await tx
        .updateTable('transactions')
        .set(place)
        .where('hash', '=', hash)
        .returning('hash')
        .executeTakeFirst();
      await takeBack(tx, unmade, own !== undefined, BigInt(this.clock.now()));
      await tx
        .updateTable('payments')
        .set(place)
        .where('transaction_hash', '=', hash)
        .where('settled_at', 'is not', null)
        .execute();
    });
  }

  /** Takes a preconfirmation back: the block was finished without the transfer. */
  recordVanished(paymentIds: readonly string[]): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const changes = unsettled(BigInt(this.clock.now()));
      for (const id of paymentIds) await transition(tx, id, mayVanish, changes);
    });
  }
}

/** Their transfers are not in the chain: they have to go out again. */
const unsettled = (now: bigint) => ({
  settled_at: null,
  preconfirmed_at: null,
  block_number: null,
  block_hash: null,
  broadcast_at: null,
  reorged_at: now,
});

/** Payments that were settled are open again. */
async function takeBack(
  tx: LedgerTx,
  paymentIds: readonly string[],
  isOurs: boolean,
  now: bigint,
): Promise<void> {
  // A stranger's transfer leaves no transaction of ours behind: the payment is signed anew.
  const unsigned = isOurs ? {} : { signed_at: null, transaction_hash: null };
  for (const id of paymentIds) {
    // Its payer may have another payment open by now; its code is looked up again.
    const changes = { ...unsettled(now), ...unsigned, payer_code: null };
    await transition(tx, id, mayReorg, changes);
  }
}
