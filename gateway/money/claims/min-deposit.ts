import type { Clock } from '../../ground/domain/ports.js';
import { usdcUnits, type UsdcUnits } from '../../ground/domain/units.js';
import type { ClaimCosts } from './costs.js';

/** Two digits are enough: the challenge stays the same while gas moves by little. */
const DIGITS = 2;

/**
 * The least deposit of which deposit, claim and payout take no more than a share: rounded up to two
 * digits, and never below the operator's own minimum.
 *
 * @param cost atomic units for all three
 * @param costPercentMax the share, in hundredths
 */
export function minDepositFor(cost: bigint, costPercentMax: number, floor: UsdcUnits): UsdcUnits {
  const percent = BigInt(costPercentMax);
  const needed = (cost * 100n + percent - 1n) / percent;
  const scale = 10n ** BigInt(Math.max(needed.toString().length - DIGITS, 0));
  const rounded = ((needed + scale - 1n) / scale) * scale;
  return rounded > floor ? usdcUnits(rounded) : floor;
}

export interface MinDepositParts {
  readonly costs: Pick<ClaimCosts, 'deposit' | 'claimRow' | 'sweep'>;
  readonly costPercentMax: number;
  /** The operator's own minimum. */
  readonly floor: UsdcUnits;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Milliseconds for which a client may deposit what it was asked for. */
  readonly honouredMs: number;
}

/** Follows gas with the least deposit that is asked for. */
export class MinDeposit {
  #asked: { readonly units: UsdcUnits; readonly untilMs: number }[] = [];
  #now: UsdcUnits;

  constructor(private readonly parts: MinDepositParts) {
    this.#now = parts.floor;
  }

  /** What is asked for now, in atomic units. */
  get asked(): UsdcUnits {
    return this.#now;
  }

  /** The least that was asked for lately: gas may have risen since a client read the challenge. */
  get honoured(): UsdcUnits {
    const nowMs = this.parts.clock.monotonicMs();
    this.#asked = this.#asked.filter(({ untilMs }) => untilMs > nowMs);
    return this.#asked.reduce((least, { units }) => (units < least ? units : least), this.#now);
  }

  /** Looks what gas costs now. @throws when the chain does not answer; then the last look stands. */
  async look(): Promise<void> {
    const { costs, costPercentMax, floor, clock, honouredMs } = this.parts;
    const parts = await Promise.all([costs.deposit(), costs.claimRow(), costs.sweep()]);
    const units = minDepositFor(
      parts.reduce((sum, cost) => sum + cost, 0n),
      costPercentMax,
      floor,
    );
    if (units === this.#now) return;
    this.#asked.push({ units: this.#now, untilMs: clock.monotonicMs() + honouredMs });
    this.#now = units;
  }
}
