import { counts, type PaymentRecord } from './record.js';
import { carryOver, type Spent, type StoreView } from './store-view.js';

export const DAY_MS = 24 * 60 * 60 * 1000;
/** How many changes go by between two looks for what can be summed up. */
const CARRY_EVERY = 1_000;

const requestOf = (url: string, body: string) => `${url}\n${body}`;

/**
 * All records in memory, with what a change asks of them at hand: no look walks through them all,
 * however many there are.
 */
export class RecordIndex implements StoreView {
  readonly #records = new Map<string, PaymentRecord>();
  /** `open` and `signing` records by what they pay for. */
  readonly #pending = new Map<string, Map<string, PaymentRecord>>();
  readonly #signing = new Map<string, PaymentRecord>();
  /** What counts for ever: all but `released` and `signing`. */
  #totalUnits = 0n;
  /** The same of the last 24 hours: how much of each record, in the order of their coming. */
  readonly #dayShares = new Map<string, { readonly createdAtMs: number; readonly units: bigint }>();
  #dayUnits = 0n;
  #dayStartMs = -Infinity;
  #puts = 0;

  get size(): number {
    return this.#records.size;
  }

  get(id: string): PaymentRecord | undefined {
    return this.#records.get(id);
  }

  pending(url: string, body: string): readonly PaymentRecord[] {
    return [...(this.#pending.get(requestOf(url, body))?.values() ?? [])];
  }

  values(): readonly PaymentRecord[] {
    return [...this.#records.values()];
  }

  spent(nowMs: number): Spent {
    this.#moveDay(nowMs - DAY_MS);
    let [dayUnits, totalUnits] = [this.#dayUnits, this.#totalUnits];
    for (const record of this.#signing.values()) {
      if (!counts(record, nowMs)) continue;
      totalUnits += record.amountUnits;
      if (record.createdAtMs > nowMs - DAY_MS) dayUnits += record.amountUnits;
    }
    return { dayUnits, totalUnits };
  }

  /** Adds a record, or replaces the one with its id; now and then sums old ones up. */
  put(record: PaymentRecord): void {
    this.#set(record);
    this.#puts += 1;
    if (this.#puts % CARRY_EVERY === 0) this.carry(record.createdAtMs);
  }

  /** Sums up what is old, where there is very much of it. */
  carry(nowMs: number): void {
    const carried = carryOver(this.#records, nowMs);
    for (const id of carried?.remove ?? []) this.#remove(id);
    if (carried) this.#set(carried.put);
  }

  #set(record: PaymentRecord): void {
    this.#remove(record.id, { keepsPlace: true });
    const { id, status, url, body, amountUnits: units, createdAtMs } = record;
    this.#records.set(id, record);
    if ((status === 'open' || status === 'signing') && body !== undefined) {
      const request = requestOf(url, body);
      const same = this.#pending.get(request) ?? new Map<string, PaymentRecord>();
      this.#pending.set(request, same.set(id, record));
    }
    if (status === 'signing') this.#signing.set(id, record);
    if (status === 'signing' || status === 'released') return;
    this.#totalUnits += units;
    if (createdAtMs <= this.#dayStartMs) return;
    this.#dayShares.set(id, { createdAtMs, units });
    this.#dayUnits += units;
  }

  /** A record that is replaced keeps its place in the order. */
  #remove(id: string, { keepsPlace = false } = {}): void {
    const before = this.#records.get(id);
    if (!before) return;
    if (!keepsPlace) this.#records.delete(id);
    const request = requestOf(before.url, before.body ?? '');
    const same = this.#pending.get(request);
    if (same?.delete(id) === true && same.size === 0) this.#pending.delete(request);
    const wasSigning = this.#signing.delete(id);
    if (!wasSigning && before.status !== 'released') this.#totalUnits -= before.amountUnits;
    const share = this.#dayShares.get(id);
    if (!share) return;
    this.#dayUnits -= share.units;
    this.#dayShares.delete(id);
  }

  /**
   * Moves the window's start. Records come almost in the order of their times; one that is late
   * counts a little too long, never too short.
   */
  #moveDay(startMs: number): void {
    const isBack = startMs < this.#dayStartMs;
    this.#dayStartMs = startMs;
    if (isBack) {
      for (const record of this.values()) this.#set(record);
      return;
    }
    for (const [id, { createdAtMs, units }] of this.#dayShares) {
      if (createdAtMs > startMs) return;
      this.#dayUnits -= units;
      this.#dayShares.delete(id);
    }
  }
}
