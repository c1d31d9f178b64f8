import type { Clock } from '../../ground/domain/ports.js';
import type { Payment } from '../ledger/payment.js';
import type { Flight } from './flight.js';

/** The transactions of one relayer that are on their way, in the order in which they were signed. */
export class Flights {
  /** Not yet in a block: these bound the work that the lane takes. */
  readonly #inFlight = new Set<Flight>();
  /** Not yet confirmed. */
  readonly #flying = new Set<Flight>();

  add(flight: Flight): void {
    this.#inFlight.add(flight);
    this.#flying.add(flight);
  }

  /** It is in a block. */
  included(flight: Flight): void {
    this.#inFlight.delete(flight);
  }

  /** It is confirmed, or can never be mined. */
  ended(flight: Flight): void {
    this.#flying.delete(flight);
  }

  clear(): void {
    this.#flying.clear();
    this.#inFlight.clear();
  }

  get flying(): readonly Flight[] {
    return [...this.#flying];
  }

  /** How many are not in a block yet. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  get codeInFlight(): number {
    return [...this.#inFlight].filter(({ intent }) => intent.payments[0]?.codePayer).length;
  }

  get keysInFlight(): number {
    return this.inFlight - this.codeInFlight;
  }

  /** Wei that those which are not confirmed yet may cost at most. */
  get committedWei(): bigint {
    return this.flying.reduce((sum, flight) => sum + flight.gasCostMax, 0n);
  }

  /** Those that the fee cap keeps from offering what the chain asks for. */
  get atFeeCap(): number {
    return this.flying.filter(({ isAtFeeCap }) => isAtFeeCap).length;
  }

  /** The payments that are not confirmed yet, by transaction. */
  get batches(): (readonly Payment[])[] {
    return this.flying.map((flight) => flight.intent.payments);
  }

  /** Milliseconds since the oldest one that is in no block went out; 0 without one. */
  waitingMs(clock: Pick<Clock, 'now'>): number {
    const [oldest] = this.#inFlight;
    return oldest ? Math.max(clock.now() - oldest.intent.createdAt, 0) : 0;
  }
}
