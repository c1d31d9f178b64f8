import type { Refusal } from '../../ground/domain/refusal.js';
import { address, type Address } from '../../ground/domain/units.js';
import { type Checkpoint, passCheckpoint } from '../ledger/checkpoint.js';
import type { IntentPurpose } from '../ledger/intents.js';
import type { Payment } from '../ledger/payment.js';
import type { CodePayer } from '../ledger/code-payer.js';
import type { Authorization, SignedAuthorization } from '../payment/authorization.js';
import type { PayerCode } from '../payment/payer-code.js';
import type { Call } from './calls.js';
import type { BlockFacts } from './chain.js';
import { BatchDeployment } from './batch-deployment.js';
import { CodePayers } from './code-payers.js';
import { Departures } from './departures.js';
import { ChainFacts } from './facts.js';
import type { Flown } from './flight.js';
import { BlockFollower } from './follower.js';
import { Funds } from './funds.js';
import { Handover } from './handover.js';
import type { SettlementHealth } from './health.js';
import { Intake } from './intake.js';
import { Investigations, isToBeSigned } from './investigations.js';
import { Maintenance } from './maintenance.js';
import { Lane } from './lane.js';
import { outcomeOf, Outcomes, type SettlementOutcome } from './outcome.js';
import type { SettlementParts } from './parts.js';
import type { Signer } from './signer.js';

/** Moves the money of served payments: batches, lanes, confirmation, recovery. */
export class Settlement {
  private readonly parts: SettlementParts;
  readonly #outcomes: Outcomes;
  readonly #facts: ChainFacts;
  readonly #follower: BlockFollower;
  readonly #funds: Funds;
  readonly #handover: Handover;
  readonly #intake: Intake;
  readonly #lanes: readonly Lane[];
  readonly #batches: BatchDeployment;
  readonly #codePayers: CodePayers;
  readonly #queue: Departures;
  readonly #maintenance: Maintenance;
  readonly #stopping = new AbortController();
  readonly #investigations: Investigations;

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
    this.#funds = new Funds(
      { chain, clock, facts: this.#facts, log, settings },
      signers.map(({ address }) => address),
    );
    const takeUp = async (payment: Payment) => {
      const { id } = payment;
      if (this.#isExpired(payment) || !this.#isCarried(id)) await this.#resolve(id);
    };
    this.#handover = new Handover(parts, {
      holdsKey: () => this.#intake.holdsKey,
      room: () => settings.queuePaymentsMax - this.#queue.size,
      takeUp,
    });
    this.#lanes = signers.map(
      (signer) =>
        new Lane({
          ...parts,
          signer,
          facts: this.#facts,
          funds: this.#funds,
          follower: this.#follower,
          onFree: () => this.#queue.pump(),
          onPreconfirmed: (moved) => this.#announce(moved),
          onEnded: (flown) => this.#ended(flown),
          codeCallsOf: (flown) => this.#codePayers.callsOf(flown),
          onUnsigned: (payments) => this.#reconsider(payments),
        }),
    );
    const lanes = this.#lanes;
    const [sender = NOBODY] = lanes.map((lane) => lane.address);
    this.#batches = new BatchDeployment(parts, lanes);
    this.#codePayers = new CodePayers({ ...parts, facts: this.#facts, sender });
    this.#queue = new Departures({
      ...{ clock, log, settings, lanes },
      codePayers: this.#codePayers,
      batches: this.#batches,
      stopping: this.#stopping.signal,
    });
    this.#investigations = new Investigations(parts, {
      relayer: lanes[0]?.address,
      codePayers: this.#codePayers,
      isCarried: (id) => this.#isCarried(id),
      enqueue: (payment) => this.#enqueue(payment),
      remove: (id) => this.#queue.remove(id),
    });
    this.#intake = new Intake({
      ...{ facts: this.#facts, funds: this.#funds, handover: this.#handover },
      ...{ lanes: this.#lanes, queue: this.#queue, log, settings },
    });
    this.#maintenance = new Maintenance(parts, {
      look: () => this.#lookAfterLanes(),
      takeUp,
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
    await this.#maintenance.enter();
    await this.#startLanes();
    await this.#batches.look();
    await this.#funds.look();
    await this.#maintenance.run();
    this.#handover.start();
  }

  /**
   * Whether this new payment, which the chain has found good, is taken now: a payer that has code,
   * as the verification saw it, is bound by rules of its own.
   */
  admitPayer(
    authorization: SignedAuthorization,
    seen: PayerCode,
  ): Promise<Refusal | CodePayer | undefined> {
    return this.#codePayers.admit(authorization, seen);
  }

  /** Facts of a newer block, from whoever asked the chain for something else. */
  observe(facts: BlockFacts): void {
    this.#facts.observe(facts);
    this.#follower.saw(facts.number);
    if (facts.funds) this.#funds.saw(facts.funds);
  }

  /** Somebody says that a block is there: pending transactions are looked for soon. */
  hint(): void {
    this.#follower.hint();
  }

  /**
   * Why a new payment is not taken now, if it is not. `promised` others have been admitted and are
   * not served yet.
   */
  admits(authorization: Pick<Authorization, 'validBefore'>, promised = 0): Refusal | undefined {
    return this.#intake.admits(authorization, promised);
  }

  /**
   * Why a payment that comes now is not even looked at, if it is not: it would settle later than its
   * caller waits. Before it come so many `promised` payments, which are not served yet, and so many
   * seconds until somebody can look at it.
   */
  sheds(promised: number, seconds: number): Refusal | undefined {
    return this.#intake.sheds(promised, seconds);
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

  /** A relayer that would send something else than payments now, without keeping them waiting. */
  freeRelayer(): Address | undefined {
    return this.#lanes.find((lane) => lane.isFree)?.address;
  }

  /**
   * Signs, records and sends a call that moves no payment. It is followed like any transaction, and
   * sent again by the next process if this one dies. False when the relayer has no room.
   */
  async send(relayer: Address, purpose: IntentPurpose, call: Call): Promise<boolean> {
    const lane = this.#lanes.find(({ address: own, isFree }) => own === relayer && isFree);
    if (!lane) return false;
    await lane.carry({ purpose, call, payments: [] });
    return true;
  }

  health(): SettlementHealth {
    const lanes = this.#lanes.map((lane) => ({
      relayer: lane.address,
      ...(lane.halted && { halted: lane.halted }),
      balanceWei: lane.balance,
      inFlight: lane.flights.inFlight,
      atFeeCap: lane.flights.atFeeCap,
    }));
    const closure = this.#intake.closure(0);
    return {
      ready: closure === undefined,
      queued: this.#queue.size,
      lanes,
      runwayHours: this.#funds.runwayHours(),
      isShortOfGasMoney: closure === 'out-of-gas-money',
    };
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
    await this.#handover.stop();
    await this.#maintenance.leave();
    return open();
  }

  #enqueue(payment: Payment): void {
    if (!this.#intake.holdsKey) return;
    if (this.#queue.has(payment.id) || this.#isCarried(payment.id)) return;
    this.#queue.add(payment);
  }

  #isCarried(paymentId: string): boolean {
    return this.#lanes.some((lane) => lane.carries(paymentId));
  }

  #ended(flown: Flown): void {
    this.#announce(flown.moved);
    this.#reconsider(flown.unmoved);
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
    if (outcomeOf(payment).kind === 'pending') await this.#investigations.look(payment);
    this.#outcomes.announce(paymentId);
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
      await lane.takeUpLeftovers();
    }
    await this.#batches.look();
    // What waits here is in the books, where the gateway that holds the key now finds it.
    if (!this.#intake.holdsKey) this.#queue.clear();
    await this.#intake.lookAtFunds();
  }
}

/** Where there is no relayer, nothing is ever simulated in its name. */
const NOBODY = address(`0x${'0'.repeat(40)}`);
