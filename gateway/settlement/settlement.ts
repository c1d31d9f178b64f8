import { refuse, type Refusal } from '../domain/refusal.js';
import { type Checkpoint, passCheckpoint } from '../ledger/checkpoint.js';
import type { Payment } from '../ledger/payment.js';
import { maySign } from '../ledger/status.js';
import type { Authorization } from '../payment/authorization.js';
import { refuseFullQueue, refuseShortWindow } from './admission.js';
import type { BlockFacts } from './chain.js';
import { ChainFacts } from './facts.js';
import { BlockFollower } from './follower.js';
import { Household } from './household.js';
import { Lane, type HaltReason } from './lane.js';
import { outcomeOf, Outcomes, type SettlementOutcome } from './outcome.js';
import type { SettlementParts } from './parts.js';
import { PaymentQueue } from './queue.js';
import { investigate, type Finding } from './resolver.js';
import type { Signer } from './signer.js';

export interface SettlementHealth {
  /** False when new paid work is refused. */
  readonly ready: boolean;
  /** Payments that wait for a transaction. */
  readonly queued: number;
  readonly lanes: readonly {
    readonly relayer: string;
    readonly halted?: HaltReason;
    readonly balanceWei: bigint;
    readonly inFlight: number;
    /** Transactions that cannot offer more because of the fee cap. */
    readonly atFeeCap: number;
  }[];
  /** Where somebody else's relayer moves the money. */
  readonly facilitator?: { readonly name: string; readonly answers: boolean };
}

/** Moves the money of served payments: batches, lanes, confirmation, recovery. */
export class Settlement {
  private readonly parts: SettlementParts;
  readonly #queue = new PaymentQueue();
  readonly #outcomes: Outcomes;
  readonly #facts: ChainFacts;
  readonly #follower: BlockFollower;
  readonly #lanes: readonly Lane[];
  readonly #household: Household;
  readonly #stopping = new AbortController();
  /** Payments that are being looked into. */
  readonly #investigated = new Set<string>();
  #isPumping = false;

  constructor(
    given: Omit<SettlementParts, 'checkpoint'> & { readonly checkpoint?: Checkpoint },
    signers: readonly Signer[],
  ) {
    const parts = { checkpoint: passCheckpoint, ...given };
    this.parts = parts;
    const { chain, clock, log, settings } = parts;
    this.#outcomes = new Outcomes(parts);
    this.#facts = new ChainFacts(chain, clock);
    this.#follower = new BlockFollower({ chain, clock, log, settings });
    this.#lanes = signers.map(
      (signer) =>
        new Lane({
          ...parts,
          signer,
          facts: this.#facts,
          follower: this.#follower,
          onFree: () => this.#pump(),
          onPreconfirmed: (moved) => this.#announce(moved),
          onEnded: (moved, unmoved) => this.#ended(moved, unmoved),
          onUnsigned: (payments) => this.#reconsider(payments),
        }),
    );
    this.#household = new Household(parts, {
      look: () => this.#lookAfterLanes(),
      takeUp: async (payment) => {
        const { id } = payment;
        if (this.#isExpired(payment) || !this.#isCarried(id)) await this.#resolve(id);
      },
      // Transactions of ours that left the chain are open again: they go out as they were signed.
      reopen: () => this.#startLanes(),
      announce: (id) => this.#outcomes.announce(id),
    });
  }

  /**
   * Recovers what an earlier process left behind and opens for work.
   * @throws when the chain or the books cannot be read.
   */
  async start(): Promise<void> {
    this.#follower.saw((await this.#facts.refresh()).number);
    await this.#household.enter();
    await this.#startLanes();
    await this.#household.run();
  }

  /** Facts of a newer block, from whoever asked the chain for something else. */
  observe(facts: BlockFacts): void {
    this.#facts.observe(facts);
    this.#follower.saw(facts.number);
  }

  /** Somebody says that a block is there: pending transactions are looked for soon. */
  hint(): void {
    this.#follower.hint();
  }

  /** Why no new paid work is taken now, if it is not. */
  admits(authorization: Pick<Authorization, 'validBefore'>): Refusal | undefined {
    const { queuePaymentsMax } = this.parts.settings;
    if (this.#lanes.every((lane) => lane.halted)) {
      const isPoor = this.#lanes.some((lane) => lane.halted === 'out-of-gas-money');
      const why = isPoor ? 'its relayer is out of gas money' : 'settlement is not open';
      return refuse(
        'service_unavailable',
        `No paid search is taken at present, because ${why}. Nothing was charged.`,
        { retryAfterSeconds: 30 },
      );
    }
    return (
      refuseFullQueue(this.#queue.size, queuePaymentsMax) ??
      refuseShortWindow(authorization.validBefore, this.#facts.now(), this.#secondsNeeded())
    );
  }

  /** Settles a served payment; says `pending` after `waitMs` while the work goes on. */
  async settle(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome> {
    const payment = await this.parts.ledger.get(paymentId);
    if (payment && isToBeSigned(payment)) this.#enqueue(payment);
    return this.outcome(paymentId, options);
  }

  /** Waits for the outcome of a payment, whoever brings it about. */
  outcome(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome> {
    return this.#outcomes.wait(paymentId, options);
  }

  health(): SettlementHealth {
    const lanes = this.#lanes.map((lane) => ({
      relayer: lane.address,
      ...(lane.halted && { halted: lane.halted }),
      balanceWei: lane.balance,
      inFlight: lane.inFlight,
      atFeeCap: lane.atFeeCap,
    }));
    return { ready: lanes.some((lane) => !lane.halted), queued: this.#queue.size, lanes };
  }

  /**
   * Finishes what is under way, at most until the deadline, and stops. What is not finished then
   * is in the books for the next start. Resolves with the number of payments left open.
   */
  async drain({ deadlineMs }: { deadlineMs: number }): Promise<number> {
    const { clock } = this.parts;
    const deadline = clock.monotonicMs() + deadlineMs;
    const open = () => this.#queue.size + this.#lanes.reduce((sum, lane) => sum + lane.carrying, 0);
    while (open() > 0 && clock.monotonicMs() < deadline) await clock.sleep(50);
    this.#stopping.abort();
    for (const lane of this.#lanes) lane.stop();
    await this.#follower.stop();
    await this.#household.leave();
    return open();
  }

  /** For a search and its settlement behind all that wait now. */
  #secondsNeeded(): number {
    const { settings } = this.parts;
    const batches = Math.ceil((this.#queue.size + 1) / settings.batchPaymentsMax);
    const blocks = 2 + Math.ceil(batches / this.#lanes.length) * settings.confirmations;
    return settings.searchSeconds + Math.ceil((blocks * settings.blockTimeMs) / 1000);
  }

  #enqueue(payment: Payment): void {
    if (this.#queue.has(payment.id) || this.#isCarried(payment.id)) return;
    this.#queue.add(payment);
    this.#pump();
  }

  #isCarried(paymentId: string): boolean {
    return this.#lanes.some((lane) => lane.carries(paymentId));
  }

  /**
   * Gives every free lane a batch: at once when nothing is in flight, with the payments of this very
   * moment; otherwise when some more have been gathered.
   */
  #pump(): void {
    if (this.#isPumping || this.#stopping.signal.aborted) return;
    this.#isPumping = true;
    const { clock, settings } = this.parts;
    const carry = () => {
      this.#isPumping = false;
      if (this.#stopping.signal.aborted) return;
      for (const lane of this.#lanes) {
        if (!lane.isFree || this.#queue.size === 0) continue;
        void lane.carry(this.#queue.take(settings));
      }
    };
    if (this.#lanes.every((lane) => lane.inFlight === 0)) clock.defer(carry);
    else void clock.sleep(settings.gatherMs, this.#stopping.signal).then(carry);
  }

  #ended(moved: readonly Payment[], unmoved: readonly Payment[]): void {
    this.#announce(moved);
    this.#reconsider(unmoved);
  }

  #announce(payments: readonly Payment[]): void {
    for (const { id } of payments) this.#outcomes.announce(id);
  }

  /** Finds out what is to become of payments that no transaction of ours carries any more. */
  #reconsider(payments: readonly Payment[]): void {
    for (const { id } of payments) {
      this.#resolve(id).catch((error: unknown) => {
        // It stays open in the books; housekeeping takes it up again.
        this.parts.log.warn({ payment: id, error: String(error) }, 'could not resolve a payment');
      });
    }
  }

  async #resolve(paymentId: string): Promise<void> {
    const payment = await this.parts.ledger.get(paymentId);
    if (!payment) return;
    if (isToBeSigned(payment) && !this.#isExpired(payment)) {
      this.#enqueue(payment);
      return;
    }
    if (outcomeOf(payment).kind === 'pending') await this.#investigate(payment);
    this.#outcomes.announce(paymentId);
  }

  /** Looks into a payment and writes down what is certain; two looks at once would contradict. */
  async #investigate(payment: Payment): Promise<void> {
    if (this.#investigated.has(payment.id)) return;
    this.#investigated.add(payment.id);
    try {
      const { log } = this.parts;
      const relayer = this.#lanes[0]?.address ?? payment.authorization.to;
      const finding = await investigate(payment, relayer, this.parts);
      const fields = { payment: payment.id, status: payment.status, ...summary(finding) };
      log.info(fields, 'investigated');
      await this.#conclude(payment, finding);
    } finally {
      this.#investigated.delete(payment.id);
    }
  }

  async #conclude(payment: Payment, finding: Finding): Promise<void> {
    const { books, ledger, settings } = this.parts;
    switch (finding.kind) {
      case 'moved':
        this.#queue.remove(payment.id);
        await books.recordAdopted(payment.id, finding.transaction, finding.block);
        return;
      case 'impossible':
        if (!finding.isForGood && (await this.#mayStillGoOut(payment.id))) return;
        this.#queue.remove(payment.id);
        await books.recordFailed(payment, finding.reason);
        return;
      case 'possible': {
        if (this.#isCarried(payment.id) || payment.failedCalls + 1 >= settings.callAttemptsMax)
          return;
        if (!isToBeSigned(payment)) await books.recordRetry(payment);
        const retried = await ledger.get(payment.id);
        if (retried && isToBeSigned(retried)) this.#enqueue(retried);
        return;
      }
      case 'unclear':
        return;
    }
  }

  /** Whether a transaction carries it, here or in the books of a relayer that nobody works with now. */
  async #mayStillGoOut(paymentId: string): Promise<boolean> {
    return this.#isCarried(paymentId) || (await this.parts.books.intents.isCarried(paymentId));
  }

  #isExpired(payment: Payment): boolean {
    return payment.authorization.validBefore <= this.#facts.now();
  }

  async #startLanes(): Promise<void> {
    for (const lane of this.#lanes) await lane.start();
  }

  async #lookAfterLanes(): Promise<void> {
    for (const lane of this.#lanes) {
      await lane.checkLease();
      if (lane.halted === 'not-started' || lane.halted === 'leased-elsewhere') await lane.start();
      else if (lane.halted === 'out-of-gas-money') await lane.refreshBalance();
      await lane.takeUpLeftovers();
    }
  }
}

/** Whether it waits for a transaction: for the first one, or for another after one came to nothing. */
const isToBeSigned = ({ facts }: Payment): boolean => maySign(facts) === undefined;

const summary = (finding: { kind: string; reason?: string }) => ({
  finding: finding.kind,
  ...(finding.reason !== undefined && { reason: finding.reason }),
});
