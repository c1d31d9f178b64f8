import type { Clock } from '../../ground/domain/ports.js';
import type { UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { CodePayerBooks } from './code-payers.js';
import { FailureBooks } from './failures.js';
import { HandoverBooks } from './handover-books.js';
import { LeaseBooks } from './leases.js';
import { IntentBooks } from './intent-books.js';
import { OutcomeBooks } from './outcome-books.js';
import type { Payment } from './payment.js';
import { ReorgBooks } from './reorg-books.js';
import { pruneReplies, pruneRows, type Retention } from './retention.js';
import { SigningBooks } from './signing-books.js';
import { mayRelease } from './status.js';
import { millis, paymentOf } from './tables.js';
import { type LedgerTx, transition } from './transition.js';

/** The books as the settlement keeps them: every step of moving the money, each one durable. */
export class TransferBooks {
  readonly leases: LeaseBooks;
  readonly failures: FailureBooks;
  readonly handover: HandoverBooks;
  readonly intents: IntentBooks;
  readonly reorgs: ReorgBooks;
  readonly codePayers: CodePayerBooks;
  readonly signing: SigningBooks;
  readonly outcomes: OutcomeBooks;

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
    this.signing = new SigningBooks(store, clock);
    this.outcomes = new OutcomeBooks(store, clock);
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
