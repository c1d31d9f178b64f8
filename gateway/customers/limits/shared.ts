import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { storeNow } from '../../ground/store/now.js';
import { StoreUnavailable, type Store } from '../../ground/store/store.js';
import { limited, type Admission, type RateState } from './admission.js';
import type { LimitedCaller, Limits } from './limits.js';
import { RateLease, WINDOW_MS } from './rate-lease.js';
import { lapsedRates, recalledRates, returnRates, takeRateTurn } from './rate-turns.js';
import type { LimitTables } from './schema.js';

/** A gateway that did not take a turn for so long is dead: others give its leases back. */
const LEASE_MS = 8000;
/** Turns in one transaction. */
const BATCH_MAX = 64;
/** Turns that one request waits for at most. */
const ASKED_MAX = 10;

/** Limits that several gateways share: what has to be done for them beside the requests. */
export interface SharedLimits extends Limits {
  /** Resizes this gateway's leases, and gives back what others need: called four times a second. */
  turn(): Promise<void>;
  /** Gives back what dead gateways had on lease. Returns how many leases that were. */
  returnLapsed(): Promise<number>;
}

/** Whose rate it is, and who that is to its caller. */
interface Subject {
  readonly name: string;
  readonly limit: number;
  readonly who: string;
}

/**
 * Rates that several gateways share through the database. Each has a part of a rate on lease and
 * admits from memory; only a request that finds no free slot waits for a turn, in which the lease
 * becomes larger. However many gateways there are, no second holds more than the rate.
 *
 * @param own this gateway's own limits, of addresses.
 */
export function sharedLimits(
  parts: { readonly store: Store; readonly clock: Clock; readonly gateway: string },
  own: Limits,
): SharedLimits {
  const { store, clock, gateway } = parts;
  const leases = new Map<string, RateLease>();
  const due = new Set<RateLease>();
  let running: Promise<void> | undefined;

  const leaseOf = ({ name, limit }: Subject): RateLease => {
    const lease = leases.get(name) ?? new RateLease(name, limit, clock.monotonicMs());
    lease.limit = limit;
    leases.set(name, lease);
    return lease;
  };

  const takeTurns = async (batch: readonly RateLease[]): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const turns = batch.map((lease) => ({ lease, ask: lease.begin(startedMs) }));
    const holder = { gateway, now: storeNow(store, clock), leaseMs: LEASE_MS };
    const outcomes = await store.write(async (tx: Kysely<LimitTables>) => {
      const taken = [];
      for (const { lease, ask } of turns) {
        const { subject, limit } = lease;
        taken.push(await takeRateTurn(tx, { subject, limit, ask }, holder));
      }
      return taken;
    });
    for (const [index, { lease, ask }] of turns.entries()) {
      const outcome = outcomes[index];
      if (!outcome) throw new Error('a turn without an outcome');
      lease.end(ask, outcome, startedMs);
      // Never two of one rate: each would overwrite what the other has on lease.
      if (lease.isIdle(startedMs) && !due.has(lease)) leases.delete(lease.subject);
    }
  };

  /** Rejects for all who wait when a turn cannot be taken; the next request tries again. */
  const work = async () => {
    try {
      while (due.size > 0) {
        await new Promise<void>((resolve) => clock.defer(resolve));
        // In one order everywhere, so that two gateways on one database don't wait in a circle.
        const batch = [...due].sort(bySubject).slice(0, BATCH_MAX);
        for (const lease of batch) due.delete(lease);
        await takeTurns(batch);
      }
    } finally {
      due.clear();
      running = undefined;
    }
  };
  const turnSoon = (lease: RateLease): Promise<void> => {
    if (leases.get(lease.subject) === lease) due.add(lease);
    // Without anything to do, `work` would end before it is known to run, and then stay so for ever.
    if (due.size > 0) running ??= work();
    return running ?? Promise.resolve();
  };

  /** Admits by all or by none; otherwise says which of them have no slot free. */
  const decide = (subjects: readonly Subject[], nowMs: number): Admission | readonly Subject[] => {
    const found = subjects.map((subject) => ({ subject, lease: leaseOf(subject) }));
    const lacking = found.filter(({ lease }) => lease.free(nowMs) < 1);
    if (lacking.length > 0) return lacking.map(({ subject }) => subject);
    for (const { lease } of found) lease.take(nowMs);
    const states = found.map(({ lease }) => stateOf(lease, nowMs));
    const rate = states.reduce((least, one) => (one.remaining < least.remaining ? one : least));
    return { kind: 'admitted', rate };
  };
  const refuseBy = (subject: Subject): Admission =>
    limited(
      { ...stateOf(leaseOf(subject), clock.monotonicMs()), remaining: 0 },
      WINDOW_MS,
      subject.who,
    );

  /** Asks for slots until there are some, or none are to be had. */
  const askAndDecide = async (
    subjects: readonly Subject[],
    lacking: readonly Subject[],
  ): Promise<Admission> => {
    for (let missing = lacking, asked = 1; ; asked += 1) {
      const nowMs = clock.monotonicMs();
      const hopeless = missing.find((subject) => !leaseOf(subject).mayAsk(nowMs));
      if (hopeless || asked > ASKED_MAX) return refuseBy(hopeless ?? missing[0] ?? ANYONE);
      const turns = missing.map((subject) => {
        const lease = leaseOf(subject);
        lease.wait(nowMs);
        return turnSoon(lease);
      });
      await Promise.all(turns);
      // Somebody who came later may have been faster; then it asks again.
      const decided = decide(subjects, clock.monotonicMs());
      if (!isLacking(decided)) return decided;
      missing = decided;
    }
  };

  return {
    ...own,
    admit(caller) {
      const subjects = subjectsOf(caller);
      const nowMs = clock.monotonicMs();
      const decided = decide(subjects, nowMs);
      return isLacking(decided) ? askAndDecide(subjects, decided) : Promise.resolve(decided);
    },
    async turn() {
      if (leases.size === 0) return;
      const recalled = await store.read((db: Kysely<LimitTables>) => recalledRates(db, gateway));
      const nowMs = clock.monotonicMs();
      const needed = [...leases.values()].filter(
        (lease) => lease.isDue(nowMs) || recalled.includes(lease.subject),
      );
      await Promise.all(needed.map(turnSoon)).catch(unlessAway);
    },
    async returnLapsed() {
      const now = storeNow(store, clock);
      const lapsed = await store.read((db: Kysely<LimitTables>) =>
        lapsedRates(db, now).limit(1).execute(),
      );
      if (lapsed.length === 0) return 0;
      return store.write((tx: Kysely<LimitTables>) => returnRates(tx, now));
    },
  };
}

const ANYONE: Subject = { name: '', limit: 1, who: 'Your account' };

const isLacking = (decided: Admission | readonly Subject[]): decided is readonly Subject[] =>
  Array.isArray(decided);

function subjectsOf({ account, key }: LimitedCaller): readonly Subject[] {
  const whole = { name: account.id, limit: account.ratePerSecond, who: 'Your account' };
  if (key.ratePerSecond === null) return [whole];
  return [{ name: `key ${key.id}`, limit: key.ratePerSecond, who: 'This key' }, whole];
}

function stateOf(lease: RateLease, nowMs: number): RateState {
  return {
    policy: 'search',
    limit: lease.limit,
    windowSeconds: WINDOW_MS / 1000,
    remaining: lease.remaining(nowMs),
    resetSeconds: 1,
  };
}

/** The store says itself when the database is away. */
function unlessAway(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}

const bySubject = (a: RateLease, b: RateLease) =>
  a.subject < b.subject ? -1 : a.subject > b.subject ? 1 : 0;
