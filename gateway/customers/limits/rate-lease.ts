import type { Ask } from '../../ground/domain/lease-size.js';
import { resized, SlidingWindow } from './window.js';

/** No second of any account's searches holds more than its rate. */
export const WINDOW_MS = 1000;
/** Nothing is admitted by a lease that was not renewed for so long: it may be another's soon. */
const USABLE_MS = 6000;
/** A lease in use is renewed after so long. */
const RENEW_MS = 2500;
/** Slots that nobody has used for so long are given back. */
const IDLE_MS = 5000;
/** After another gateway has asked for slots, none are kept in store for so long. */
const MODEST_MS = 1000;
/** Free slots that are kept in store at least, and as a part of those in use. */
const STORE = { slotsMin: 4, part: 0.25 } as const;
/** When the rate was used up everywhere, it is not asked again for so long, in milliseconds. */
const SHORT_MS = 100;

/** What the database says of a lease. */
export interface RateTurned {
  readonly slots: number;
  /** Slots that are on lease to nobody. */
  readonly left: number;
  /** Slots that other gateways need of this one. */
  readonly wanted: number;
  /** Gateways with leases, this one included. */
  readonly gateways: number;
}

/**
 * One gateway's share of a rate, in memory. A rate of N a second is N slots, each of which admits
 * one search in any second. Slots change hands only when they were not used for a second, so all
 * gateways together admit N.
 */
export class RateLease {
  /** As long as there are slots. */
  #window: SlidingWindow | undefined;
  #waiting = 0;
  #turnedMs = -Infinity;
  #usedMs: number;
  #shortUntilMs = -Infinity;
  #modestUntilMs = -Infinity;
  #cap = Infinity;
  #left = 0;

  constructor(
    readonly subject: string,
    public limit: number,
    nowMs: number,
  ) {
    this.#usedMs = nowMs;
  }

  get slots(): number {
    return this.#window?.limit ?? 0;
  }

  /** How many more this gateway admits at once. */
  free(nowMs: number): number {
    if (!this.#window || nowMs - this.#turnedMs >= USABLE_MS) return 0;
    const free = this.#window.remaining(nowMs);
    const cap = nowMs < this.#modestUntilMs ? Math.min(this.#cap, this.limit) : this.limit;
    return Math.max(0, Math.min(free, cap - (this.slots - free)));
  }

  /** How many more may be admitted, here and by what is on lease to nobody. */
  remaining(nowMs: number): number {
    return Math.min(this.limit, this.free(nowMs) + this.#left);
  }

  /** Admits a search. The caller has seen that a slot is free. */
  take(nowMs: number): void {
    this.#window?.take(nowMs);
    this.#usedMs = nowMs;
  }

  /** Whether it is worth asking for more: not when all is here, or was gone a moment ago. */
  mayAsk(nowMs: number): boolean {
    if (nowMs - this.#turnedMs >= USABLE_MS) return true;
    return nowMs >= this.#shortUntilMs && this.slots < this.limit;
  }

  wait(nowMs: number): void {
    this.#waiting += 1;
    this.#usedMs = nowMs;
  }

  /** Whether there is nothing left to do for it. */
  isIdle(nowMs: number): boolean {
    return this.slots === 0 && nowMs - this.#usedMs >= IDLE_MS;
  }

  isDue(nowMs: number): boolean {
    const free = this.#window?.remaining(nowMs) ?? 0;
    if (this.#isResting(nowMs)) return free > 0 || this.slots === 0;
    const wish = this.#wish(free);
    const isUneven = (free < wish / 2 && this.slots < this.limit) || free > wish * 4;
    return isUneven || nowMs - this.#turnedMs >= RENEW_MS;
  }

  /** What a turn asks of the database. Slots that it does not keep are out of reach from now on. */
  begin(nowMs: number): Ask {
    const waiting = this.#waiting;
    this.#waiting = 0;
    const free = this.#window?.remaining(nowMs) ?? 0;
    const running = this.slots - free;
    const wish = this.#isResting(nowMs) ? 0 : this.#wish(free);
    const keep = Math.min(free, Math.max(wish, waiting));
    this.#resize(running + keep);
    return { running, keep, waiting, wish };
  }

  /** The database has answered what `begin` asked. */
  end(asked: Ask, turned: RateTurned, startedMs: number): void {
    const { slots, left, wanted, gateways } = turned;
    this.#resize(slots);
    this.#turnedMs = startedMs;
    this.#left = left;
    if (slots - asked.running < asked.waiting) this.#shortUntilMs = startedMs + SHORT_MS;
    if (wanted > 0) this.#recall(wanted, gateways, startedMs);
  }

  /** Others need slots: what is free goes, and beyond that down to an equal share. */
  #recall(wanted: number, gateways: number, nowMs: number): void {
    const used = this.slots - (this.#window?.remaining(nowMs) ?? 0);
    this.#cap = Math.max(Math.ceil(this.limit / gateways), used - wanted);
    this.#modestUntilMs = nowMs + MODEST_MS;
  }

  /** The newest uses stay: none is forgotten within its second. */
  #resize(slots: number): void {
    if (slots === this.slots) return;
    if (slots < 1) this.#window = undefined;
    else if (this.#window) this.#window = resized(this.#window, slots);
    else this.#window = new SlidingWindow(slots, WINDOW_MS);
  }

  #wish(free: number): number {
    return Math.max(STORE.slotsMin, Math.ceil((this.slots - free) * STORE.part));
  }

  #isResting(nowMs: number): boolean {
    return nowMs - this.#usedMs >= IDLE_MS || nowMs < this.#modestUntilMs;
  }
}
