import type { ChainAllowance } from '../../ground/domain/allowance.js';
import type { Clock } from '../../ground/domain/ports.js';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { countedNames } from './address.js';

/** What some work costs us. */
export interface WorkCost {
  /** Milliseconds of our processor. */
  readonly cpuMs?: number;
  /** Questions to the chain. */
  readonly calls?: number;
  /** Bytes received and sent. */
  readonly bytes?: number;
}

/**
 * What callers cost who have paid nothing: one account of processor time, questions to the chain
 * and bytes for each address, over everything that it asks of us, and for the IPv6 prefixes that it
 * is in. Work is billed when it is done and nobody has paid for it; who owes more than the
 * allowance of a few seconds is refused until that is worked off. So a payer is never held up by
 * payments of its own that are under way, and a flood is refused before it costs anything.
 */
export interface UnpaidWork {
  /**
   * Why nothing more is done for an address now, if so; counts nothing. Who shows a key is refused
   * only where the address owes several times as much, as it does when it shows many bad ones: its
   * neighbours behind one address go on.
   */
  objection(address: string, shows: 'nobody' | 'key'): Refusal | undefined;
  /** Bills work that nobody has paid for. */
  bill(address: string, cost: WorkCost): void;
  /** What an address may still have asked of the chain; given back when that was paid for. */
  chainAllowance(address: string): ChainAllowance & { giveBack(): void };
}

/** What one address may use in a second, for each unit of `ADDRESS_RATE`. */
const EACH = { cpuMs: 1, calls: 0.2, bytes: 20_000 } as const;
/** Seconds of its allowance that an address may use at once. */
const BURST_SECONDS = 5;
/** Who shows a key may owe so many times as much. */
const KEY_PATIENCE = 4;
/** All addresses together may use so many times what one may, before those that use much are refused. */
const EVERYBODY = 5;
/** While everybody together uses too much, an address may use this part of its allowance at once. */
const FAIR_PART = 0.1;
/** Names that are remembered; the one that was used longest ago makes room. */
const NAMES_MAX = 50_000;

type Resource = keyof typeof EACH;
const RESOURCES = ['cpuMs', 'calls', 'bytes'] as const satisfies readonly Resource[];

/** For each resource the time, in monotonic milliseconds, until which its use is worked off. */
type Debts = Record<Resource, number>;

export function unpaidWork(clock: Clock, addressRate: number): UnpaidWork {
  const debtsByName = new Map<string, Debts>();
  const everybody: Debts = noDebts();

  const debtsOf = (name: string): Debts => {
    const debts = debtsByName.get(name) ?? noDebts();
    debtsByName.delete(name); // set again: a Map keeps the order of insertion
    debtsByName.set(name, debts);
    const [oldest] = debtsByName.keys();
    if (debtsByName.size > NAMES_MAX && oldest !== undefined) debtsByName.delete(oldest);
    return debts;
  };
  const add = (debts: Debts, cost: WorkCost, share: number, nowMs: number) => {
    for (const resource of RESOURCES) {
      const used = cost[resource] ?? 0;
      if (used === 0) continue;
      const perMs = (EACH[resource] * addressRate * share) / 1000;
      debts[resource] = Math.max(debts[resource], nowMs) + used / perMs;
    }
  };
  /** Milliseconds until an address owes no more than it may; 0 when that is so now. */
  const waitMs = (address: string, resources: readonly Resource[], patience = 1): number => {
    const nowMs = clock.monotonicMs();
    const burstMs = BURST_SECONDS * 1000;
    const owed = (debts: Debts | undefined) =>
      debts ? Math.max(...resources.map((resource) => debts[resource])) - nowMs : 0;
    const isCrowded = owed(everybody) > burstMs;
    const allowedMs = (isCrowded ? burstMs * FAIR_PART : burstMs) * patience;
    const waits = countedNames(address).map(({ name }) => owed(debtsByName.get(name)) - allowedMs);
    return Math.max(0, ...waits);
  };
  const bill = (address: string, cost: WorkCost) => {
    const nowMs = clock.monotonicMs();
    for (const { name, share } of countedNames(address)) add(debtsOf(name), cost, share, nowMs);
    add(everybody, cost, EVERYBODY, nowMs);
  };

  return {
    objection(address, shows) {
      const wait = waitMs(address, ['cpuMs', 'bytes'], shows === 'key' ? KEY_PATIENCE : 1);
      return wait > 0 ? limited(wait) : undefined;
    },
    bill,
    chainAllowance(address) {
      let taken = 0;
      return {
        take(questions) {
          const wait = waitMs(address, ['calls']);
          if (wait > 0) return limited(wait);
          bill(address, { calls: questions });
          taken += questions;
          return undefined;
        },
        giveBack() {
          bill(address, { calls: -taken });
          taken = 0;
        },
      };
    },
  };
}

const noDebts = (): Debts => ({ cpuMs: -Infinity, calls: -Infinity, bytes: -Infinity });

function limited(waitMs: number): Refusal {
  return refuse(
    'rate_limited',
    'Your network address has sent too many unpaid requests. Slow down, or pay or use an API key.',
    { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) },
  );
}
