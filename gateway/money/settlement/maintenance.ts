import type { Payment } from '../ledger/payment.js';
import { followToSafeHead } from './finality.js';
import { reverseFailures } from './reversed-failures.js';
import type { SettlementParts } from './parts.js';
import { followPreconfirmed } from './preconfirmed.js';

/** What a way of settling does when the maintenance runs. */
export interface MaintenanceTasks {
  /** Looks after what the settlement works with: relayers, or a facilitator. */
  look(): Promise<void>;
  /** An open payment that is this process's to finish. */
  takeUp(payment: Payment): Promise<void>;
  /** Settled transfers vanished in a reorganization and are open again. */
  reopen(): Promise<void>;
  /** There is news in the books of a payment that somebody may wait for. */
  announce(paymentId: string): void;
}

/**
 * No search lasts as long as this (UPSTREAM_TIMEOUT_MS is a minute at most). A reservation of this
 * process that is older has lost its search: its release could not be written when the disk was full.
 */
const RESERVED_MS_MAX = 120_000;

/**
 * What no event would ever wake: the presence of this process, what is open in the books and what
 * dead processes have left behind, finality, retention.
 */
export class Maintenance {
  readonly #leaving = new AbortController();
  #heart: Promise<void> | undefined;
  #rounds: Promise<void> | undefined;
  #finalityAtMs = -Infinity;

  constructor(
    private readonly parts: SettlementParts,
    private readonly tasks: MaintenanceTasks,
  ) {}

  /** Says that this process is alive, from now on. */
  async enter(): Promise<void> {
    const { books, ledger, settings } = this.parts;
    await books.leases.beat(ledger.owner, settings.leaseMs);
    this.#heart = this.#beat();
  }

  /** Takes up what is open in the books, and again from time to time. */
  async run(): Promise<void> {
    await this.#takeUpOpenPayments();
    this.#rounds = this.#makeRounds();
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#rounds;
    await this.#heart;
  }

  /**
   * Finds payments in the books that nobody works on, or whose time is up: what this process
   * knows only from the books, and what processes that are dead now have left behind.
   */
  async #takeUpOpenPayments(): Promise<void> {
    const { books, ledger, log } = this.parts;
    const living = await books.leases.living(ledger.owner);
    const now = this.parts.clock.now();
    // Either way: the wall clock may have been set back since.
    const isLost = (reservedAt: number) => Math.abs(now - reservedAt) > RESERVED_MS_MAX;
    const released = await books.releaseAbandoned(
      (owner, reservedAt) => !living.has(owner) || (owner === ledger.owner && isLost(reservedAt)),
    );
    if (released > 0) log.info({ released }, 'released reservations that nobody will answer');
    const mine: Payment[] = [];
    for (const payment of await books.openPayments()) {
      const { id, owner } = payment;
      if (owner !== ledger.owner) {
        if (living.has(owner) || !(await books.claim(id, owner, ledger.owner))) continue;
      }
      mine.push(payment);
      await this.tasks.takeUp(payment);
      // There may be hundreds.
      await new Promise<void>((resolve) => this.parts.clock.defer(resolve));
    }
    for (const payment of await followPreconfirmed(mine, this.parts)) {
      await this.tasks.takeUp(payment);
    }
  }

  /** Renews this process's presence well before others would take it for dead. */
  async #beat(): Promise<void> {
    const { books, ledger, log, settings } = this.parts;
    while (await this.#isStillHereAfter(settings.leaseMs / 4)) {
      await books.leases.beat(ledger.owner, settings.leaseMs).catch((error: unknown) => {
        log.warn({ error: String(error) }, 'could not renew the presence of this gateway');
      });
    }
    await books.leases.leave(ledger.owner).catch(() => undefined);
  }

  async #makeRounds(): Promise<void> {
    const { log, settings } = this.parts;
    while (await this.#isStillHereAfter(settings.housekeepingMs)) {
      try {
        await this.tasks.look();
        await this.#takeUpOpenPayments();
        await this.#followFinality();
        await this.parts.books.prune(settings);
      } catch (error) {
        log.warn({ error: String(error) }, 'housekeeping could not finish; it runs again soon');
      }
    }
  }

  /** Rests; false when it was woken because everything stops. */
  async #isStillHereAfter(ms: number): Promise<boolean> {
    const { signal } = this.#leaving;
    await this.parts.clock.sleep(ms, signal);
    return !signal.aborted;
  }

  async #followFinality(): Promise<void> {
    const { clock, settings } = this.parts;
    if (clock.monotonicMs() - this.#finalityAtMs < settings.finalityMs) return;
    this.#finalityAtMs = clock.monotonicMs();
    for (const id of await reverseFailures(this.parts)) this.tasks.announce(id);
    const vanished = await followToSafeHead(this.parts);
    if (vanished.length === 0) return;
    await this.tasks.reopen();
    await this.#takeUpOpenPayments();
  }
}
