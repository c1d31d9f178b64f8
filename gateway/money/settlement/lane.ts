import { bytesToHex } from 'viem';
import type { Address, TransactionHash } from '../../ground/domain/units.js';
import type { Intent, NewIntent, NewTransaction } from '../ledger/intents.js';
import type { LaneLease } from '../ledger/leases.js';
import type { Payment } from '../ledger/payment.js';
import { type Fees, initialFees } from './fees.js';
import { Flight } from './flight.js';
import { Flights } from './flights.js';
import type { HaltReason, LaneParts, Load } from './lane-parts.js';

/** An empty transfer to oneself (21,000), with room for what chains add to it. */
const FILLER_GAS = 30_000n;

/** One relayer key: a row of contiguous nonces, each recorded before it is used. */
export class Lane {
  #nextNonce = 0n;
  #halted: HaltReason | undefined = 'not-started';
  #lease: LaneLease | undefined;
  /** Wei that reopens a lane which ran dry: what the refused transaction may cost at least. */
  #needed = 0n;
  /** What is being signed now: one at a time, so that nonces stay in order. */
  #signing: Load | undefined;
  /** Signatures under way: their intents may be in the books and not in the air yet. */
  #underway = 0;
  /** Its transactions that are on their way. */
  readonly flights = new Flights();

  constructor(private readonly parts: LaneParts) {}

  get address(): Address {
    return this.parts.signer.address;
  }

  get halted(): HaltReason | undefined {
    return this.#halted;
  }

  get balance(): bigint {
    return this.parts.funds.balanceOf(this.address);
  }

  /** Wei that the transactions which are not confirmed yet may cost at most. */
  get committedWei(): bigint {
    return this.flights.committedWei;
  }

  /** Whether this process may sign with the key, as far as it knows. */
  get holdsLease(): boolean {
    return this.#lease !== undefined;
  }

  /** Milliseconds since the oldest transaction went out, when there is no room for another one. */
  get stuckMs(): number {
    if (this.flights.keysInFlight < this.parts.settings.inFlightMax) return 0;
    return this.flights.waitingMs(this.parts.clock);
  }

  /** True when payments of plain keys that are handed over now are signed and sent at once. */
  get isFree(): boolean {
    return this.#isOpen && this.flights.keysInFlight < this.parts.settings.inFlightMax;
  }

  /** The same for a payment of a payer with code: those have places of their own. */
  get isFreeForCode(): boolean {
    return this.#isOpen && this.flights.codeInFlight < this.parts.settings.codeInFlightMax;
  }

  get #isOpen(): boolean {
    return !this.#halted && !this.#signing && this.parts.funds.canSend(this);
  }

  /** How many payments are on their way with this lane. */
  get carrying(): number {
    return this.#batches().flat().length;
  }

  carries(paymentId: string): boolean {
    return this.#batches().some((batch) => batch.some(({ id }) => id === paymentId));
  }

  #batches(): (readonly Payment[])[] {
    const { batches } = this.flights;
    return this.#signing ? [this.#signing.payments, ...batches] : batches;
  }

  /**
   * Takes up what the books know about this relayer, fills gaps, and opens for work. Running it
   * again is harmless.
   */
  async start(): Promise<void> {
    const { books, chain, ledger } = this.parts;
    this.#lease = await books.leases.takeLane(chain.chainId, this.address, ledger.owner);
    if (!this.#lease) {
      this.#halted = 'leased-elsewhere';
      return;
    }
    const used = await chain.nonce(this.address);
    const last = await books.intents.lastNonce(chain.chainId, this.address);
    this.#nextNonce = last === undefined || last + 1n < used ? used : last + 1n;
    await this.#takeUp(used);
    await this.#fillGaps(used);
    this.#halted = undefined;
  }

  /** Takes no new work; what is in flight stays in the books for the next start. */
  stop(): void {
    this.#halted = 'stopped';
  }

  /** Gives up what is in flight when another gateway has taken the key over; it has it all. */
  async checkLease(): Promise<void> {
    if (!this.#lease || (await this.parts.books.leases.holds(this.#lease))) return;
    this.parts.log.error({ relayer: this.address }, 'another gateway took over this relayer');
    this.#halted = 'leased-elsewhere';
    this.#lease = undefined;
    for (const flight of this.flights.flying) this.parts.follower.forget(flight);
    this.flights.clear();
  }

  /** The balance was looked at: opens the lane again when there is gas money for what waits. */
  refill(): void {
    const { relayerBalanceMin } = this.parts.settings;
    const needed = this.#needed > relayerBalanceMin ? this.#needed : relayerBalanceMin;
    if (this.#halted === 'out-of-gas-money' && this.balance >= needed) {
      this.#halted = undefined;
      this.#needed = 0n;
      const fields = { relayer: this.address, balanceWei: this.balance.toString() };
      this.parts.log.info(fields, 'the relayer has gas money again');
    }
    this.parts.onFree();
  }

  /**
   * Signs, commits and broadcasts one transaction.
   * Payments that cannot go along are handed to `onUnsigned`; nothing is ever dropped.
   */
  async carry(load: Load): Promise<void> {
    const { payments } = load;
    this.#signing = load;
    try {
      const flight = await this.#sign(load);
      this.#signing = undefined;
      if (!flight) this.parts.onUnsigned(payments);
      this.parts.onFree();
      await flight?.broadcast();
    } catch (error) {
      this.parts.log.error({ error: String(error) }, 'could not sign a transaction');
      // Whether the nonce was committed is unknown: the books are read again before the next use.
      this.#halted ??= 'not-started';
      this.#signing = undefined;
      this.parts.onUnsigned(payments);
    }
  }

  #sign(load: Load, nonce = this.#nextNonce): Promise<Flight | undefined> {
    this.#underway += 1;
    return this.#signAt(nonce, load).finally(() => (this.#underway -= 1));
  }

  async #signAt(nonce: bigint, { purpose, call, payments }: Load): Promise<Flight | undefined> {
    const { random, chain, books, facts, settings, checkpoint } = this.parts;
    const { gasLimit, to, data } = call;
    if (!this.#lease) return undefined;
    const id = random.uuid();
    const intent: NewIntent = {
      id,
      chainId: chain.chainId,
      relayer: this.address,
      nonce,
      purpose,
      to,
      data,
      gasLimit,
    };
    const transaction = await this.#transactionOf(
      intent,
      initialFees(await facts.baseFee(), settings),
    );
    await checkpoint('after-sign');
    const signing = await books.signing.recordSigned(
      intent,
      transaction,
      payments.map((payment) => payment.id),
      this.#lease,
    );
    if (signing.kind !== 'recorded') {
      this.parts.log.info({ ...signing }, 'could not take a transaction into the books');
      await this.checkLease();
      return undefined;
    }
    if (nonce === this.#nextNonce) this.#nextNonce += 1n;
    await checkpoint('after-sign-commit');
    const signedAt = this.parts.clock.now();
    const transactions = [{ ...transaction, signedAt }];
    return this.#fly({ ...intent, createdAt: signedAt, transactions, payments });
  }

  async #transactionOf(
    intent: NewIntent,
    fees: Fees,
    replaces?: TransactionHash,
  ): Promise<NewTransaction> {
    const { chainId, nonce, to, data, gasLimit } = intent;
    const unsigned = { chainId, nonce, to, data: bytesToHex(data), gasLimit, ...fees };
    const { hash, raw } = await this.parts.signer.sign(unsigned);
    return { hash, raw, intentId: intent.id, ...fees, ...(replaces && { replaces }) };
  }

  #fly(intent: Intent): Flight {
    const flight: Flight = new Flight(intent, this.parts, {
      replace: async (fees, replaces) => {
        const transaction = await this.#transactionOf(intent, fees, replaces);
        if (!this.#lease) return undefined;
        const isOurs = await this.parts.books.signing.recordReplacement(transaction, this.#lease);
        return isOurs ? transaction : undefined;
      },
      onIncluded: () => {
        this.flights.included(flight);
        this.parts.onFree();
      },
      onPreconfirmed: (moved) => {
        this.flights.included(flight);
        this.parts.onPreconfirmed(moved);
        this.parts.onFree();
      },
      codeCallsOf: (flown) => this.parts.codeCallsOf(flown),
      onEnded: (flown, costWei) => {
        this.parts.funds.paid(this.address, costWei);
        this.flights.ended(flight);
        this.parts.follower.forget(flight);
        this.parts.onEnded(flown);
      },
      onSuperseded: () => {
        this.flights.ended(flight);
        this.parts.follower.forget(flight);
        this.parts.onUnsigned(intent.payments);
      },
      onOutOfGasMoney: (neededWei) => this.#runDry(neededWei),
      onGap: async (used) => {
        await this.#takeUp(used);
        await this.#fillGaps(used);
      },
    });
    this.flights.add(flight);
    this.parts.follower.watch(flight);
    return flight;
  }

  #runDry(neededWei: bigint): void {
    if (neededWei > this.#needed) this.#needed = neededWei;
    if (this.#halted) return;
    this.#halted = 'out-of-gas-money';
    const fields = { relayer: this.address, balanceWei: this.balance.toString() };
    this.parts.log.error(fields, 'the relayer is out of gas money: no new paid work');
  }

  /** Takes up the open intents of the books, those included whose blocks are gone. */
  async #takeUp(used: bigint): Promise<void> {
    const { books, chain, log } = this.parts;
    const reopened = await books.intents.reopen(chain.chainId, this.address, used);
    if (reopened > 0) log.warn({ relayer: this.address, reopened }, 'mined transactions vanished');
    await this.#flyOpenIntents();
  }

  /** Takes up intents that another gateway opened again, when it saw that their block is gone. */
  async takeUpLeftovers(): Promise<void> {
    if (this.#lease) await this.#flyOpenIntents();
  }

  async #flyOpenIntents(): Promise<void> {
    const { books, chain } = this.parts;
    if (this.#underway > 0) return;
    const open = await books.intents.open(chain.chainId, this.address);
    if (this.#underway > 0) return;
    const flying = new Set(this.flights.flying.map((flight) => flight.intent.id));
    const grounded = open.filter((intent) => !flying.has(intent.id));
    const flights = grounded.map((intent) => this.#fly(intent));
    // The very bytes that were committed before; what is mined already stays as it is.
    for (const flight of flights) await flight.broadcast();
  }

  /** Closes nonces below ours that nobody will ever use, so that ours can be mined. */
  async #fillGaps(used: bigint): Promise<void> {
    const { books, chain, log } = this.parts;
    const known = await books.intents.noncesFrom(chain.chainId, this.address, used);
    for (let nonce = used; nonce < this.#nextNonce; nonce += 1n) {
      if (known.has(nonce)) continue;
      log.warn({ relayer: this.address, nonce: nonce.toString() }, 'filling a nonce gap');
      const call = { to: this.address, data: new Uint8Array(), gasLimit: FILLER_GAS };
      const flight = await this.#sign({ purpose: 'filler', call, payments: [] }, nonce);
      await flight?.broadcast();
    }
  }
}
