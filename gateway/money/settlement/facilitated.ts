import { PreflightError } from '../chain/preflight.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { TransactionHash } from '../../ground/domain/units.js';
import { type Checkpoint, passCheckpoint } from '../ledger/checkpoint.js';
import type { Payment } from '../ledger/payment.js';
import type { Authorization, SignedAuthorization } from '../payment/authorization.js';
import { refuseClosed, refuseFullQueue, refuseLongWait, refuseShortWindow } from './admission.js';
import type { BlockFacts, Receipt } from './chain.js';
import { ChainFacts } from './facts.js';
import { idleSeconds, patienceSeconds, windowSeconds } from './forecast.js';
import { type Facilitator, FacilitatorSilent, type SettleAnswer } from './facilitator.js';
import { Maintenance } from './maintenance.js';
import { outcomeOf, Outcomes, type SettlementOutcome } from './outcome.js';
import type { SettlementParts } from './parts.js';
import { investigate } from './resolver.js';
import { transferredBy } from './results.js';
import { Turnstile } from './turnstile.js';
import { canonicalReceipts } from './canonical.js';
import type { SettlementHealth } from './health.js';

/** How long a facilitator is given before the same authorization is handed over again. */
interface Patience {
  /** Milliseconds; doubled with each attempt, five times at the most. */
  readonly retryMs: number;
  /** Settlements that are asked for at the same time. */
  readonly atOnceMax: number;
}

export const PATIENCE: Patience = { retryMs: 10_000, atOnceMax: 32 };

/** Calls in a row without an answer after which no new paid work is taken. */
const SILENCES_MAX = 3;
/** Seconds that a facilitator may take to get a transaction on its way. */
const HAND_OVER_SECONDS = 5;
/** Looks at the chain in a row for one payment; after that housekeeping looks again. */
const LOOKS = 8;

/**
 * Moves the money of served payments through somebody else's relayer. What the facilitator says is
 * a hint, as what a node says is one: the books follow the chain. A payment that was handed over is
 * pending until the chain shows the transfer, or shows that it can never be made.
 */
export class FacilitatedSettlement {
  private readonly parts: SettlementParts;
  readonly #outcomes: Outcomes;
  readonly #facts: ChainFacts;
  readonly #maintenance: Maintenance;
  readonly #stopping = new AbortController();
  /** Payments that somebody here works on. */
  readonly #active = new Map<string, Promise<void>>();
  /** Bounds the settlements that are asked for at the same time. */
  readonly #turns: Turnstile;
  #silences = 0;

  constructor(
    given: Omit<SettlementParts, 'checkpoint'> & { readonly checkpoint?: Checkpoint },
    private readonly facilitator: Facilitator,
    private readonly patience: Patience = PATIENCE,
  ) {
    const parts = { checkpoint: passCheckpoint, ...given };
    this.parts = parts;
    this.#turns = new Turnstile(patience.atOnceMax);
    this.#outcomes = new Outcomes(parts);
    this.#facts = new ChainFacts(parts.chain, parts.clock);
    this.#maintenance = new Maintenance(parts, {
      look: () => this.#lookAfterFacilitator(),
      takeUp: (payment) => {
        this.#pursue(payment.id);
        return Promise.resolve();
      },
      reopen: () => Promise.resolve(),
      announce: (id) => this.#outcomes.announce(id),
    });
  }

  /**
   * Takes up what an earlier process left behind and opens for work; not before the facilitator
   * answers, which may be later.
   * @throws PreflightError when it says that it does not settle on this chain, and other errors when
   *   the chain or the books cannot be read.
   */
  async start(): Promise<void> {
    await this.#facts.refresh();
    const isSuitable = await this.facilitator.isSuitable().catch((error: unknown) => {
      this.parts.log.error({ error: String(error) }, 'the facilitator does not answer');
      this.#silences = SILENCES_MAX;
      return true;
    });
    if (!isSuitable) {
      throw new PreflightError(
        `FACILITATOR_URL: ${this.facilitator.name} does not settle scheme "exact" of x402 ` +
          'version 2 on Base.',
      );
    }
    await this.#maintenance.enter();
    await this.#maintenance.run();
  }

  observe(facts: BlockFacts): void {
    this.#facts.observe(facts);
  }

  /** Why no new paid work is taken now, if it is not. */
  admits({ validBefore }: Pick<Authorization, 'validBefore'>, promised = 0): Refusal | undefined {
    const { settings } = this.parts;
    if (this.#isSilent) return refuseClosed('facilitator-silent');
    const needed = windowSeconds(settings) + HAND_OVER_SECONDS;
    return (
      refuseFullQueue(this.#active.size + promised, settings.queuePaymentsMax) ??
      refuseShortWindow(validBefore, this.#facts.now(), needed)
    );
  }

  /** Why a payment that comes now is not even looked at, if it is not; see `Settlement.sheds`. */
  sheds(promised: number, seconds: number): Refusal | undefined {
    const { settings } = this.parts;
    const rounds = Math.floor((this.#active.size + promised) / this.patience.atOnceMax);
    const queued = seconds + (rounds * settings.blockTimeMs) / 1000;
    return refuseLongWait(queued + idleSeconds(settings), patienceSeconds(settings));
  }

  /** Why the facilitator would not settle this new payment; asked before the search. */
  async objection(authorization: SignedAuthorization): Promise<Refusal | undefined> {
    try {
      const reason = await this.facilitator.objection(authorization);
      this.#silences = 0;
      if (reason === undefined) return undefined;
      const detail = `The facilitator rejected this payment (${reason}).`;
      return refuse('payment_invalid', detail, { reason });
    } catch (error) {
      this.#heardNothing(error);
      return refuse(
        'payments_unavailable',
        'The facilitator isn’t answering. Nothing was charged. Send the same payment again.',
        { retryAfterSeconds: 2 },
      );
    }
  }

  /** Settles a served payment; says `pending` after `waitMs` while the work goes on. */
  settle(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome> {
    this.#pursue(paymentId);
    return this.#outcomes.wait(paymentId, options);
  }

  /** Waits for the outcome of a payment, whoever brings it about. */
  outcome(paymentId: string, options: { waitMs: number }): Promise<SettlementOutcome> {
    return this.#outcomes.wait(paymentId, options);
  }

  health(): SettlementHealth {
    const { name } = this.facilitator;
    return {
      ready: !this.#isSilent,
      queued: this.#active.size,
      lanes: [],
      runwayHours: Infinity,
      isShortOfGasMoney: false,
      facilitator: { name, answers: !this.#isSilent },
    };
  }

  /** Finishes what is under way, at most until the deadline; resolves with what is left open. */
  async drain({ deadlineMs }: { deadlineMs: number }): Promise<number> {
    const { clock } = this.parts;
    const deadline = clock.monotonicMs() + deadlineMs;
    while (this.#active.size > 0 && clock.monotonicMs() < deadline) await clock.sleep(50);
    const open = this.#active.size;
    this.#stopping.abort();
    await this.#maintenance.leave();
    return open;
  }

  get #isSilent(): boolean {
    return this.#silences >= SILENCES_MAX;
  }

  #heardNothing(error: unknown): void {
    this.#silences += 1;
    this.parts.log.warn({ error: String(error) }, 'the facilitator did not answer');
  }

  async #lookAfterFacilitator(): Promise<void> {
    if (!this.#isSilent) return;
    if (!(await this.facilitator.isSuitable().catch(() => false))) return;
    this.#silences = 0;
    this.parts.log.info({ facilitator: this.facilitator.name }, 'the facilitator answers again');
  }

  /** Works on a payment until its end or until nothing more can be done now; once at a time. */
  #pursue(paymentId: string): void {
    if (this.#active.has(paymentId) || this.#stopping.signal.aborted) return;
    const pursuit = this.#bringOn(paymentId)
      .catch((error: unknown) => {
        // It stays open in the books; housekeeping takes it up again.
        this.parts.log.warn({ payment: paymentId, error: String(error) }, 'could not settle yet');
      })
      .finally(() => {
        this.#active.delete(paymentId);
        this.#outcomes.announce(paymentId);
      });
    this.#active.set(paymentId, pursuit);
  }

  async #bringOn(paymentId: string): Promise<void> {
    const { ledger, clock, settings } = this.parts;
    let answer: SettleAnswer | undefined;
    for (let look = 0; look < LOOKS && !this.#stopping.signal.aborted; look += 1) {
      const payment = await ledger.get(paymentId);
      if (!payment || outcomeOf(payment).kind !== 'pending') return;
      // What was never handed over needs no look at the chain before it is.
      const mayHandOver =
        payment.status === 'served' || (await this.#mayStillBeMade(payment, answer));
      if (mayHandOver && this.#isDue(payment)) answer = await this.#handOver(payment);
      else await clock.sleep(Math.max(settings.blockTimeMs / 4, 100), this.#stopping.signal);
    }
  }

  /** Whether a payment may be handed over: for the first time, or again after a while. */
  #isDue({ status, facts, failedCalls }: Payment): boolean {
    if (status === 'served' || facts.broadcastAt === undefined) return true;
    const patienceMs = this.patience.retryMs * 2 ** Math.min(failedCalls, 5);
    return this.parts.clock.now() - facts.broadcastAt >= patienceMs;
  }

  /** Returns what the facilitator said; undefined when it said nothing. */
  async #handOver({ id, authorization }: Payment): Promise<SettleAnswer | undefined> {
    const { books, checkpoint, log } = this.parts;
    await this.#turns.enter();
    try {
      const handedOver = await books.signing.recordHandedOver(id);
      if (handedOver.kind === 'refused') return undefined;
      await checkpoint('after-sign-commit');
      const answer = await this.facilitator.settle(authorization);
      this.#silences = 0;
      await checkpoint('after-broadcast');
      if (answer.kind === 'refused') {
        log.warn({ payment: id, reason: answer.reason }, 'the facilitator did not settle');
      } else if (answer.transaction) await books.signing.recordNamed(id, answer.transaction);
      return answer;
    } catch (error) {
      if (!(error instanceof FacilitatorSilent)) throw error;
      // No answer is no knowledge: it may settle. The chain decides.
      this.#heardNothing(error);
      return undefined;
    } finally {
      this.#turns.leave();
    }
  }

  /**
   * Asks the chain what became of a payment, and writes down what is certain. True when the
   * authorization is unused and good, so that it may be handed over again.
   */
  async #mayStillBeMade(payment: Payment, answer: SettleAnswer | undefined): Promise<boolean> {
    const { books, log, checkpoint } = this.parts;
    const { id, authorization, transaction } = payment;
    const block = transaction && (await this.#blockOf(transaction, payment));
    if (transaction && block) {
      await checkpoint('after-receipt');
      await books.outcomes.recordAdopted(id, transaction, block);
      await checkpoint('after-settle-commit');
      return false;
    }
    const finding = await investigate(payment, authorization.to, this.parts);
    switch (finding.kind) {
      case 'moved':
        await books.outcomes.recordAdopted(id, finding.transaction, finding.block);
        return false;
      case 'impossible':
        // A payer without money may have some later, and the facilitator may still try.
        if (answer?.kind !== 'refused' && !finding.isForGood) return false;
        log.info({ payment: id, reason: finding.reason }, 'a payment cannot be settled');
        await books.outcomes.recordFailed(payment, finding.reason);
        return false;
      case 'possible':
        return true;
      case 'unclear':
        return false;
    }
  }

  /** The block of the named transaction, once it has moved the money and is confirmed. */
  async #blockOf(
    transaction: TransactionHash,
    { authorization }: Payment,
  ): Promise<Receipt['block'] | undefined> {
    const { chain, settings } = this.parts;
    const [receipt] = await canonicalReceipts(chain, [transaction]);
    if (!receipt?.succeeded || !transferredBy([authorization], receipt.logs)[0]) return undefined;
    if (settings.confirmations === 1) return receipt.block;
    const head = await chain.block('latest');
    const depth = head.number - receipt.block.number + 1n;
    return depth >= BigInt(settings.confirmations) ? receipt.block : undefined;
  }
}
