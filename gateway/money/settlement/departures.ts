import type { Payment } from '../ledger/payment.js';
import type { BatchDeployment } from './batch-deployment.js';
import { loneCall, sharedCall } from './calls.js';
import type { CodePayers } from './code-payers.js';
import type { Lane } from './lane.js';
import type { SettlementParts } from './parts.js';
import { PaymentQueue } from './queue.js';

interface DepartureParts extends Pick<SettlementParts, 'clock' | 'log' | 'settings'> {
  readonly lanes: readonly Lane[];
  readonly codePayers: CodePayers;
  readonly batches: BatchDeployment;
  /** Nothing departs any more. */
  readonly stopping: AbortSignal;
}

/**
 * Served payments on their way to a transaction: plain keys together, payers with code each alone, in
 * places of their own, so that neither waits for the other.
 */
export class Departures {
  readonly #queue = new PaymentQueue();
  /** Payments whose payers are being looked at. */
  readonly #lookedAt = new Set<string>();
  #isPumping = false;

  constructor(private readonly parts: DepartureParts) {}

  /** How many wait. */
  get size(): number {
    return this.#queue.size + this.#lookedAt.size;
  }

  has(paymentId: string): boolean {
    return this.#queue.has(paymentId) || this.#lookedAt.has(paymentId);
  }

  remove(paymentId: string): void {
    this.#queue.remove(paymentId);
  }

  /** Forgets what waits: it is in the books. */
  clear(): void {
    this.#queue.clear();
  }

  add(payment: Payment): void {
    const way = this.parts.codePayers.recallWay(payment);
    if (!way) {
      void this.#addOnceLookedAt(payment);
      return;
    }
    if (way.kind === 'shared') this.#queue.add(payment);
    else this.#queue.addLone(payment, way.codePayer.gasLimit);
    this.pump();
  }

  async #addOnceLookedAt(payment: Payment): Promise<void> {
    const { codePayers, log } = this.parts;
    this.#lookedAt.add(payment.id);
    try {
      const way = await codePayers.findWay(payment);
      if (way.kind === 'shared') this.#queue.add(payment);
      if (way.kind === 'alone') {
        const { codePayer } = way;
        this.#queue.addLone({ ...payment, codePayer }, codePayer.gasLimit);
      }
    } catch (error) {
      // It stays open in the books; housekeeping takes it up again.
      log.warn({ payment: payment.id, error: String(error) }, 'could not look at a payer');
    } finally {
      this.#lookedAt.delete(payment.id);
    }
    this.pump();
  }

  /**
   * Gives every free lane a load: at once when nothing is in flight, with the payments of this very
   * moment; otherwise when some more have been gathered.
   */
  pump(): void {
    const { clock, settings, lanes, stopping } = this.parts;
    if (this.#isPumping || this.#queue.size === 0 || stopping.aborted) return;
    this.#isPumping = true;
    const carry = () => {
      this.#isPumping = false;
      if (stopping.aborted) return;
      for (const lane of lanes) this.#load(lane);
    };
    if (lanes.every((lane) => lane.flights.inFlight === 0)) clock.defer(carry);
    else void clock.sleep(settings.gatherMs, stopping).then(carry);
  }

  #load(lane: Lane): void {
    const { settings, batches } = this.parts;
    if (lane.isFree && this.#queue.hasKeys) {
      const payments = this.#queue.take(settings);
      const authorizations = payments.map(({ authorization }) => authorization);
      const call = sharedCall(authorizations, batches.through);
      void lane.carry({ purpose: 'transfer', call, payments });
      return;
    }
    const lone = lane.isFreeForCode ? this.#queue.takeLone() : undefined;
    if (!lone) return;
    const { payment, gasLimit } = lone;
    const call = loneCall(payment.authorization, gasLimit);
    void lane.carry({ purpose: 'transfer', call, payments: [payment] });
  }
}
