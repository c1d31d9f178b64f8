import type { TransactionHash } from '../../ground/domain/units.js';
import type { CodeCall } from '../ledger/code-payers.js';
import type { Intent, NewTransaction } from '../ledger/intents.js';
import type { Payment } from '../ledger/payment.js';
import type { Receipt } from './chain.js';
import type { ChainFacts } from './facts.js';
import { bumpedFees, type Fees } from './fees.js';
import type { Watched } from './follower.js';
import type { SettlementParts } from './parts.js';
import { transferredBy } from './results.js';

/** A transaction of ours that came to its end in a confirmed block. */
export interface Flown {
  readonly intent: Intent;
  /** Payments whose money it moved, and those whose it did not. */
  readonly moved: readonly Payment[];
  readonly unmoved: readonly Payment[];
  readonly gasUsed: bigint;
}

export interface FlightParts extends SettlementParts {
  readonly facts: ChainFacts;
}

/** What a flight tells its lane, and asks of it. */
export interface FlightEvents {
  /** Signs the intent with other fees and commits it; undefined when the key is not ours now. */
  replace(fees: Fees, replaces: TransactionHash): Promise<NewTransaction | undefined>;
  /** The nonce is taken in a block (or by a stranger): the lane has room again. */
  onIncluded(): void;
  /** The money of these is moved in a block that is still being made, and the books say so. */
  onPreconfirmed(moved: readonly Payment[]): void;
  /** What it shows of payers with code, for the same commit as its receipt. */
  codeCallsOf(flown: Flown): Promise<readonly CodeCall[]>;
  /** Its receipt is confirmed and in the books. */
  onEnded(flown: Flown, costWei: bigint): void;
  /** A stranger's transaction took the nonce: nothing of it will ever be mined. */
  onSuperseded(): void;
  /** The relayer cannot pay the gas of this transaction, which costs at most so much. */
  onOutOfGasMoney(neededWei: bigint): void;
  /** The chain waits for this lower nonce first. */
  onGap(used: bigint): Promise<void>;
}

/** How many looks in a row must show the nonce used without a receipt of ours to believe it. */
const SUPERSEDED_LOOKS = 3;

/**
 * One relayer nonce from its first broadcast to its confirmed receipt: broadcasts the same bytes
 * again when they seem lost, and a replacement of the same nonce when they seem stuck.
 */
export class Flight implements Watched {
  readonly #transactions: NewTransaction[];
  #broadcastAtMs: number;
  #signedAtMs: number;
  #isUnderpriced = false;
  #isAtFeeCap = false;
  #foreignLooks = 0;

  constructor(
    readonly intent: Intent,
    private readonly parts: FlightParts,
    private readonly events: FlightEvents,
  ) {
    this.#transactions = [...intent.transactions];
    this.#broadcastAtMs = this.#signedAtMs = parts.clock.monotonicMs();
  }

  /** True once the cap allows no higher fee: it waits, as it is, for the base fee to fall. */
  get isAtFeeCap(): boolean {
    return this.#isAtFeeCap;
  }

  /** Wei that its gas may cost at most. */
  get gasCostMax(): bigint {
    return this.intent.gasLimit * this.#newest.maxFeePerGas;
  }

  /** The transaction that is on offer now. */
  get #newest(): NewTransaction {
    const newest = this.#transactions.at(-1);
    if (!newest) throw new Error('an intent without a transaction');
    return newest;
  }

  hashes(): readonly TransactionHash[] {
    return this.#transactions.map(({ hash }) => hash).reverse();
  }

  /** Hands the newest transaction to the chain, exactly as it was signed and committed. */
  async broadcast(): Promise<void> {
    const { chain, books, log, clock } = this.parts;
    const { hash, raw, maxFeePerGas } = this.#newest;
    this.#broadcastAtMs = clock.monotonicMs();
    const answer = await chain.broadcast(raw).catch((error: unknown) => {
      // No answer is no knowledge: it may have arrived. The receipt decides.
      log.warn({ transaction: hash, error: String(error) }, 'broadcast without an answer');
      return undefined;
    });
    await this.parts.checkpoint('after-broadcast');
    books.signing.recordBroadcast(hash).catch((error: unknown) => {
      log.warn({ transaction: hash, error: String(error) }, 'could not record a broadcast');
    });
    switch (answer?.kind) {
      case 'underpriced':
        this.#isUnderpriced = true;
        break;
      case 'out-of-gas-money':
        this.events.onOutOfGasMoney(this.intent.gasLimit * maxFeePerGas);
        break;
      case 'refused':
        log.warn({ transaction: hash, message: answer.message }, 'the node refused a broadcast');
        break;
      case 'nonce-used':
      case 'accepted':
      case undefined:
        break;
    }
  }

  included(receipt: Receipt): void {
    this.parts.log.info(
      { transaction: receipt.hash, block: String(receipt.block.number) },
      'mined',
    );
    this.events.onIncluded();
  }

  async preconfirmed(receipt: Receipt): Promise<void> {
    const { log, books } = this.parts;
    const { moved } = this.#readResults(receipt);
    if (moved.length === 0) return;
    const ids = moved.map(({ id }) => id);
    const block = String(receipt.block.number);
    log.info({ transaction: receipt.hash, block, payments: ids.length }, 'preconfirmed');
    await books.outcomes.recordPreconfirmed(receipt.hash, receipt.block, ids);
    this.events.onPreconfirmed(moved);
  }

  async confirmed(receipt: Receipt): Promise<void> {
    const { intent } = this;
    const { moved, unmoved } = this.#readResults(receipt);
    if (
      receipt.succeeded &&
      unmoved.some(({ authorization }) => intent.to === authorization.asset)
    ) {
      // The token either reverts or emits its logs: this endpoint does not tell the truth.
      throw new Error(`the receipt of ${receipt.hash} succeeded without the logs of its transfer`);
    }
    const flown = { intent, moved, unmoved, gasUsed: receipt.gasUsed };
    const codeCalls = await this.events.codeCallsOf(flown);
    await this.parts.checkpoint('after-receipt');
    await this.parts.books.outcomes.recordMined(
      intent.id,
      receipt,
      moved.map((payment) => payment.id),
      codeCalls,
    );
    await this.parts.checkpoint('after-settle-commit');
    const { gasUsed, gasPrice } = receipt;
    this.events.onEnded(flown, gasUsed * gasPrice + receipt.publishingFee);
  }

  /** Whose money the transaction moved, and whose it did not. */
  #readResults({ succeeded, logs }: Receipt) {
    const { payments } = this.intent;
    const authorizations = payments.map((payment) => payment.authorization);
    const isMoved = succeeded ? transferredBy(authorizations, logs) : [];
    const moved = payments.filter((_, index) => isMoved[index]);
    return { moved, unmoved: payments.filter((_, index) => !isMoved[index]) };
  }

  async missed(): Promise<void> {
    const { clock, settings } = this.parts;
    const now = clock.monotonicMs();
    // What cannot offer more need not be offered more often.
    const isUrgent = this.#isUnderpriced && !this.#isAtFeeCap;
    if (!isUrgent && now - this.#broadcastAtMs < settings.rebroadcastAfterMs) return;
    if (await this.#isSuperseded()) return;
    this.#isUnderpriced = false;
    if (isUrgent || now - this.#signedAtMs >= settings.replaceAfterMs) await this.#replace();
    await this.broadcast();
  }

  /** Signs the same call at the same nonce for more, as far as the cap allows. */
  async #replace(): Promise<void> {
    if (this.#isAtFeeCap) return;
    const { facts, settings, log, clock } = this.parts;
    const previous = this.#newest;
    const { baseFee } = await facts.refresh();
    const fees = bumpedFees(previous, baseFee, settings);
    this.#signedAtMs = clock.monotonicMs();
    if (!fees) {
      this.#isAtFeeCap = true;
      const maxFeePerGas = previous.maxFeePerGas.toString();
      log.error({ transaction: previous.hash, maxFeePerGas }, 'a transaction is at the fee cap');
      return;
    }
    const transaction = await this.events.replace(fees, previous.hash);
    if (!transaction) return;
    this.#transactions.push(transaction);
    const maxFeePerGas = fees.maxFeePerGas.toString();
    log.warn({ replaces: previous.hash, by: transaction.hash, maxFeePerGas }, 'replacing');
  }

  /** True when a transaction that is not ours took the nonce, which ends this intent. */
  async #isSuperseded(): Promise<boolean> {
    const { chain, books, log } = this.parts;
    const { nonce, relayer, id } = this.intent;
    const used = await chain.nonce(relayer);
    if (used < nonce) await this.events.onGap(used);
    this.#foreignLooks = used > nonce ? this.#foreignLooks + 1 : 0;
    if (this.#foreignLooks < SUPERSEDED_LOOKS) return false;
    log.error({ relayer, nonce: nonce.toString() }, 'a stranger used a nonce of this relayer');
    await books.outcomes.recordSuperseded(id);
    this.events.onIncluded();
    this.events.onSuperseded();
    return true;
  }
}
