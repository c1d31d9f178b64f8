import { Share } from './share.js';
import type { Booking, BookingLine } from './lease-rows.js';
import type { AccountTurned, KeyMonth, Turn, Turned } from './turnover.js';

/** A search that wants a credit. */
export interface Wanted {
  readonly accountId: string;
  readonly keyId: string;
  /** Set where the key has a monthly budget, which the search counts against. */
  readonly budget: { readonly month: number; readonly credits: number } | undefined;
}

/** What a search gets: a credit, or why there is none. */
export type Taken = 'taken' | 'no-credits' | 'over-budget' | 'not-known-yet';

/** A search that has to wait for its credit. */
export interface Waiter {
  readonly wanted: Wanted;
  readonly sinceMs: number;
  readonly resolve: (taken: Taken) => void;
  readonly reject: (error: unknown) => void;
}

/** Nothing is taken from a lease that was not renewed for so long: it may be another's soon. */
const USABLE_MS = 6000;
/** An unused lease is renewed after so long. */
const RENEW_MS = 2500;
/** No more is handed out while something was spent so long ago and is not booked yet. */
const UNBOOKED_MS_MAX = 750;
/** A search waits so long for what other gateways have free. */
const RECALL_MS_MAX = 2000;

interface Budget {
  terms: KeyMonth;
  readonly share: Share;
}

/**
 * What this gateway has on lease of one account, in memory: free credits, those in searches, and
 * those that are spent and not booked yet; the same for each key with a budget.
 */
export class AccountLease {
  readonly #credits: Share;
  readonly #budgets = new Map<string, Budget>();
  readonly #spent = new Map<string, BookingLine>();
  #waiting: Waiter[] = [];
  /** What is being booked. It stays as it is until that is known to have happened. */
  #booking: Booking | undefined;
  /** When the first of what is being booked was spent, and the first of what comes after it. */
  #bookingMs: number | undefined;
  #spentMs: number | undefined;
  #turnedMs = -Infinity;
  #isRecalling = false;

  constructor(
    readonly accountId: string,
    nowMs: number,
  ) {
    this.#credits = new Share(nowMs);
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whether there is nothing left to do for it. */
  get isIdle(): boolean {
    const shares = [this.#credits, ...[...this.#budgets.values()].map(({ share }) => share)];
    return !this.isWaiting && !this.#booking && shares.every((share) => share.isEmpty);
  }

  /** Whether something was spent that no turn has booked. */
  get isUnbooked(): boolean {
    return this.#booking !== undefined || this.#spent.size > 0;
  }

  /** Takes a credit for a search, if one is free and the books keep up. */
  take(wanted: Wanted, nowMs: number): boolean {
    const unbookedMs = this.#bookingMs ?? this.#spentMs ?? nowMs;
    const isLate = nowMs - unbookedMs >= UNBOOKED_MS_MAX;
    if (this.isWaiting || isLate || nowMs - this.#turnedMs >= USABLE_MS) return false;
    return this.#takeFree(wanted, nowMs);
  }

  wait(waiter: Waiter): void {
    this.#waiting.push(waiter);
  }

  spend(wanted: Wanted, nowMs: number): void {
    const { keyId, budget } = wanted;
    this.#credits.spend();
    if (budget) this.#budgetOf(wanted, budget, nowMs).share.spend();
    const budgetMonth = budget?.month ?? null;
    const name = `${keyId} ${budgetMonth}`;
    const count = (this.#spent.get(name)?.count ?? 0) + 1;
    this.#spent.set(name, { keyId, budgetMonth, count });
    this.#spentMs ??= nowMs;
  }

  giveBack(wanted: Wanted): void {
    this.#credits.giveBack();
    const { budget } = wanted;
    if (budget) this.#budgetOf(wanted, budget, 0).share.giveBack();
  }

  /** Another gateway, or somebody who wants to see the books, needs what is free here. */
  recall(nowMs: number): void {
    for (const share of this.#shares()) share.recall(nowMs);
  }

  /** Whether a turn is to be taken without anybody waiting for it. */
  isDue(nowMs: number): boolean {
    if (this.isUnbooked || nowMs - this.#turnedMs >= RENEW_MS) return true;
    return this.#shares().some((share) => share.isUneven(nowMs));
  }

  /** What this turn asks of the database. */
  begin(nowMs: number, newId: () => string): Turn {
    this.#booking ??= this.#newBooking(newId);
    const waitingFor = (budget: Budget) =>
      this.#waiting.filter(({ wanted }) => nameOf(wanted) === nameOfMonth(budget.terms)).length;
    for (const { wanted } of this.#waiting) {
      if (wanted.budget) this.#budgetOf(wanted, wanted.budget, nowMs);
    }
    return {
      accountId: this.accountId,
      booking: this.#booking,
      credits: this.#credits.ask(nowMs, this.#waiting.length),
      budgets: [...this.#budgets.values()].map((budget) => ({
        ...budget.terms,
        ask: budget.share.ask(nowMs, waitingFor(budget)),
      })),
      isRecalling: this.#isRecalling,
    };
  }

  /** The turn was taken. Those who wait get their credit, or hear why not. */
  end(turn: Turn, turned: AccountTurned, startedMs: number): void {
    this.#booking = undefined;
    this.#bookingMs = undefined;
    this.#turnedMs = startedMs;
    this.#credits.settle(turn.credits, turned.credits.units);
    if (turned.credits.isRecalled) this.#credits.recall(startedMs);
    const answers = new Map<string, Turned>();
    for (const [index, { ask, ...terms }] of turn.budgets.entries()) {
      const name = nameOfMonth(terms);
      const answer = turned.budgets[index];
      const budget = this.#budgets.get(name);
      if (!answer || !budget) throw new Error('a turn answered for too few budgets');
      budget.share.settle(ask, answer.units);
      if (answer.isRecalled) budget.share.recall(startedMs);
      answers.set(name, answer);
      if (budget.share.isEmpty) this.#budgets.delete(name);
    }
    this.#serve(turn.credits.waiting, startedMs, (wanted) => {
      const name = nameOf(wanted);
      const own = name === undefined ? undefined : answers.get(name);
      if (this.#credits.free > 0 && own) return { why: 'over-budget', more: own.more };
      return { why: 'no-credits', more: turned.credits.more };
    });
  }

  /** The turn was not taken, or nobody knows; its booking is tried again. */
  fail(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#isRecalling = false;
    for (const { reject } of waiting) reject(error);
  }

  /** Serves those who waited when the turn began; who came later waits for the next one. */
  #serve(
    count: number,
    nowMs: number,
    lackOf: (wanted: Wanted) => { why: 'no-credits' | 'over-budget'; more: Turned['more'] },
  ): void {
    const asked = this.#waiting.splice(0, count);
    const patient: Waiter[] = [];
    for (const waiter of asked) {
      const { wanted, sinceMs, resolve } = waiter;
      if (this.#takeFree(wanted, nowMs)) {
        resolve('taken');
        continue;
      }
      const { why, more } = lackOf(wanted);
      if (more === 'none') resolve(why);
      else if (nowMs - sinceMs >= RECALL_MS_MAX) resolve('not-known-yet');
      else patient.push(waiter);
    }
    this.#isRecalling = patient.length > 0;
    this.#waiting.unshift(...patient);
  }

  #takeFree(wanted: Wanted, nowMs: number): boolean {
    const { budget } = wanted;
    const share = budget && this.#budgets.get(nameOf(wanted) ?? '')?.share;
    if (this.#credits.free < 1 || (budget && (share?.free ?? 0) < 1)) return false;
    this.#credits.take(nowMs);
    share?.take(nowMs);
    return true;
  }

  #budgetOf(
    { keyId }: Wanted,
    { month, credits }: NonNullable<Wanted['budget']>,
    nowMs: number,
  ): Budget {
    const terms = { keyId, month, budget: credits };
    const name = nameOfMonth(terms);
    const budget = this.#budgets.get(name) ?? { terms, share: new Share(nowMs) };
    budget.terms = terms;
    this.#budgets.set(name, budget);
    return budget;
  }

  #newBooking(newId: () => string): Booking | undefined {
    if (this.#spent.size === 0) return undefined;
    const lines = [...this.#spent.values()];
    this.#spent.clear();
    [this.#bookingMs, this.#spentMs] = [this.#spentMs, undefined];
    for (const { keyId, budgetMonth, count } of lines) {
      this.#credits.book(count);
      if (budgetMonth === null) continue;
      this.#budgets.get(nameOfMonth({ keyId, month: budgetMonth }))?.share.book(count);
    }
    return { id: newId(), lines };
  }

  #shares(): readonly Share[] {
    return [this.#credits, ...[...this.#budgets.values()].map(({ share }) => share)];
  }
}

const nameOfMonth = ({ keyId, month }: Pick<KeyMonth, 'keyId' | 'month'>) => `${keyId} ${month}`;

function nameOf({ keyId, budget }: Wanted): string | undefined {
  return budget && nameOfMonth({ keyId, month: budget.month });
}
