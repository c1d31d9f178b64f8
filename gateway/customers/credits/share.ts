import type { Ask } from '../../ground/domain/lease-size.js';

/** A share that nobody has taken from for so long is given back, in milliseconds. */
const IDLE_MS = 5000;
/** After another gateway has asked for free units, none are kept in store for so long. */
const MODEST_MS = 1000;
/** Milliseconds of searches for which free units are kept in store. */
const STORE_MS = 1000;
/** The shortest time over which the pace of searches is told, in milliseconds. */
const PACE_MS_MIN = 50;
/** Free units that are kept in store for somebody who searches now and then. */
const UNITS_MIN = 4;
/** Free units of one share at most. */
const UNITS_MAX = 100_000;

/**
 * One gateway's part of something that is counted: of an account's credits, or of a key's monthly
 * budget. A unit is free, or runs in a search, or is owed: spent, and not yet in a booking. The
 * database knows the sum alone.
 */
export class Share {
  #free = 0;
  #running = 0;
  #owed = 0;
  /** Units taken since the pace was told. */
  #taken = 0;
  #pacedMs: number;
  #perMs = 0;
  #usedMs: number;
  #modestUntilMs = -Infinity;

  constructor(nowMs: number) {
    this.#pacedMs = nowMs;
    this.#usedMs = nowMs;
  }

  get free(): number {
    return this.#free;
  }

  /** Whether nothing of it is left to be booked or given back. */
  get isEmpty(): boolean {
    return this.#free + this.#running + this.#owed === 0;
  }

  /** Takes a free unit for a search. The caller has seen that there is one. */
  take(nowMs: number): void {
    if (this.#free < 1) throw new Error('there is no free unit to take');
    this.#free -= 1;
    this.#running += 1;
    this.#taken += 1;
    this.#usedMs = nowMs;
  }

  spend(): void {
    this.#running -= 1;
    this.#owed += 1;
  }

  giveBack(): void {
    this.#running -= 1;
    this.#free += 1;
  }

  /** These spent units are in a booking now. */
  book(count: number): void {
    this.#owed -= count;
  }

  /** Another gateway needs what is free here. */
  recall(nowMs: number): void {
    this.#modestUntilMs = nowMs + MODEST_MS;
  }

  /** Whether a turnover would get more, or give something back. */
  isUneven(nowMs: number): boolean {
    if (this.#isResting(nowMs)) return this.#free > 0;
    const wish = this.#wish();
    return this.#free < wish / 2 || this.#free > wish * 4;
  }

  /** What to ask for. Free units that it does not keep are out of reach from now on. */
  ask(nowMs: number, waiting: number): Ask {
    this.#tellPace(nowMs);
    const wish = this.#isResting(nowMs) ? 0 : this.#wish();
    this.#free = Math.min(this.#free, Math.max(wish, waiting));
    return { running: this.#running + this.#owed, keep: this.#free, waiting, wish };
  }

  /** The database has `units` for this share, as an answer to `asked`. */
  settle(asked: Ask, units: number): void {
    const more = units - asked.running - asked.keep;
    // Less than there was: the lease had lapsed.
    this.#free = Math.max(0, this.#free + more);
  }

  #isResting(nowMs: number): boolean {
    return nowMs - this.#usedMs >= IDLE_MS || nowMs < this.#modestUntilMs;
  }

  #wish(): number {
    return Math.min(Math.max(Math.ceil(this.#perMs * STORE_MS), UNITS_MIN), UNITS_MAX);
  }

  #tellPace(nowMs: number): void {
    const elapsedMs = nowMs - this.#pacedMs;
    if (elapsedMs < PACE_MS_MIN && this.#perMs > 0) return;
    const perMs = this.#taken / Math.max(elapsedMs, PACE_MS_MIN);
    this.#perMs = Math.max(perMs, (this.#perMs + perMs) / 2);
    this.#taken = 0;
    this.#pacedMs = nowMs;
  }
}
