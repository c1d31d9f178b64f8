import type { Refusal } from '../../ground/domain/refusal.js';
import type { Authorization } from '../payment/authorization.js';
import {
  type Closure,
  refuseClosed,
  refuseFullQueue,
  refuseLongWait,
  refuseShortWindow,
} from './admission.js';
import type { ChainFacts } from './facts.js';
import { idleSeconds, patienceSeconds, queueSeconds, windowSeconds } from './forecast.js';
import type { Funds } from './funds.js';
import type { Handover } from './handover.js';
import type { Lane } from './lane.js';
import type { SettlementParts } from './parts.js';

/** Decides whether new payments are taken: by relayers, gas money, and what waits already. */
export class Intake {
  /** Whether gas money was short at the last look. */
  #wasShort = false;

  constructor(
    private readonly parts: Pick<SettlementParts, 'log' | 'settings'> & {
      readonly facts: ChainFacts;
      readonly funds: Funds;
      readonly handover: Handover;
      readonly lanes: readonly Lane[];
      /** Payments that wait here for a transaction. */
      readonly queue: { readonly size: number };
    },
  ) {}

  /** Whether this gateway may sign; otherwise it leaves what it serves to the one that may. */
  get holdsKey(): boolean {
    return this.parts.lanes.some((lane) => lane.holdsLease);
  }

  /** Why nobody could move the money of a new payment, if so. */
  closure(promised: number): Closure | undefined {
    const { funds, lanes } = this.parts;
    const open = this.#openLanes();
    if (open.length > 0) {
      return funds.cover(open, this.#waiting + promised) ? undefined : 'out-of-gas-money';
    }
    const isPoor = lanes.some((lane) => lane.halted === 'out-of-gas-money');
    return isPoor ? 'out-of-gas-money' : 'not-open';
  }

  admits(
    { validBefore }: Pick<Authorization, 'validBefore'>,
    promised: number,
  ): Refusal | undefined {
    const { facts, settings } = this.parts;
    const closure = this.closure(promised);
    if (closure) return refuseClosed(closure);
    const now = facts.now();
    const neededSeconds = windowSeconds(settings);
    return (
      refuseFullQueue(this.#waiting + promised, settings.queuePaymentsMax) ??
      refuseShortWindow(validBefore, now, neededSeconds) ??
      refuseLongWait(this.#queueSeconds(promised), validBefore - now - neededSeconds)
    );
  }

  sheds(promised: number, seconds: number): Refusal | undefined {
    const { settings } = this.parts;
    const queued = seconds + this.#queueSeconds(promised);
    return refuseLongWait(queued + idleSeconds(settings), patienceSeconds(settings));
  }

  /** Looks at the relayers' gas money when that is due, and opens or closes for new payments. */
  async lookAtFunds(): Promise<void> {
    const { funds, lanes, log } = this.parts;
    const isShort = this.closure(0) === 'out-of-gas-money';
    await funds.lookWhenDue(isShort || lanes.some((lane) => lane.halted === 'out-of-gas-money'));
    for (const lane of lanes) lane.refill();
    const isStillShort = this.closure(0) === 'out-of-gas-money';
    if (isStillShort === this.#wasShort) return;
    this.#wasShort = isStillShort;
    if (isStillShort) log.error({}, 'gas money is short: no new paid work is taken');
    else log.info({}, 'there is gas money again: paid work is taken');
  }

  /** The relayers that send what is served here: ours, or those of the gateway that holds them. */
  #openLanes(): readonly Lane[] {
    const { lanes } = this.parts;
    if (this.holdsKey) return lanes.filter((lane) => lane.holdsLease && !lane.halted);
    return lanes.filter((lane) => lane.halted === 'leased-elsewhere');
  }

  /** Payments that wait for a transaction, as far as this gateway knows. */
  get #waiting(): number {
    const { handover, queue } = this.parts;
    return this.holdsKey ? queue.size : handover.waiting;
  }

  /** How long a payment waits because of others. */
  #queueSeconds(promised: number): number {
    const lanes = this.#openLanes();
    const backlog = {
      payments: this.#waiting + promised,
      lanes: lanes.length,
      stuckMs: lanes.length === 0 ? 0 : Math.min(...lanes.map((lane) => lane.stuckMs)),
    };
    return queueSeconds(backlog, this.parts.settings);
  }
}
