import type { Kysely } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import { storeNow } from '../../ground/store/now.js';
import { StoreUnavailable, type Store } from '../../ground/store/store.js';
import { AccountLease, type Taken, type Wanted, type Waiter } from './account-lease.js';
import type { AccountTables } from './schema.js';
import { isAnyToReturn, recalledAccounts, returnLeases } from './lease-returns.js';
import { takeTurn } from './turnover.js';

/**
 * This gateway's leases of the credits of accounts. A search takes its credit from memory; what was
 * spent is booked for many searches together, and leases become larger and smaller, by turns that
 * are taken beside the searches. Only a search that finds its lease empty waits for one.
 */
export interface Leases {
  /** @throws StoreUnavailable when there is no lease and none can be had; nothing was taken. */
  take(wanted: Wanted): Promise<Taken>;
  spend(wanted: Wanted): void;
  giveBack(wanted: Wanted): void;
  /** Books what was spent, and gives back what is not needed: called four times a second. */
  turn(): Promise<void>;
  /** Books an account's searches and gives back what is free, so that its books say where it stands. */
  settle(accountId: string): Promise<void>;
  /** Gives back what dead gateways had on lease. Returns how many leases that were. */
  returnLapsed(): Promise<number>;
  /** Books everything, gives everything back. */
  close(): Promise<void>;
}

/** A gateway that did not take a turn for so long is dead: others give its leases back. */
export const LEASE_MS = 8000;
/** Turns in one transaction. */
const BATCH_MAX = 64;
/** Milliseconds between two looks whether other gateways have given back what they have free. */
const RECALL_LOOK_MS = 40;

interface Ports {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among all that share the database. */
  readonly gateway: string;
}

export function openLeases({ store, clock, gateway }: Ports): Leases {
  const leases = new Map<string, AccountLease>();
  const due = new Set<AccountLease>();
  const looking = new Set<AccountLease>();
  let running: Promise<void> | undefined;
  let bug: Error | undefined;
  let bookings = 0;
  const newId = () => `${gateway}:${(bookings += 1)}`;

  const leaseOf = (accountId: string): AccountLease => {
    const known = leases.get(accountId);
    if (known) return known;
    const lease = new AccountLease(accountId, clock.monotonicMs());
    leases.set(accountId, lease);
    return lease;
  };

  /** Takes the turns of some leases in one transaction. */
  const takeTurns = async (batch: readonly AccountLease[]): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const turns = batch.map((lease) => ({ lease, turn: lease.begin(startedMs, newId) }));
    const holder = { gateway, now: storeNow(store, clock), leaseMs: LEASE_MS };
    try {
      const outcomes = await store.write(async (tx: Kysely<AccountTables>) => {
        const taken = [];
        for (const { turn } of turns) taken.push(await takeTurn(tx, turn, holder));
        return taken;
      });
      for (const [index, { lease, turn }] of turns.entries()) {
        const outcome = outcomes[index];
        if (!outcome) throw new Error('a turn without an outcome');
        lease.end(turn, outcome, startedMs);
        // Never two of one account: each would overwrite what the other has on lease.
        if (lease.isIdle && !due.has(lease)) leases.delete(lease.accountId);
      }
    } catch (error) {
      // One account's fault is not its neighbours': each by itself.
      if (batch.length > 1 && !(error instanceof StoreUnavailable)) {
        for (const lease of batch) await takeTurns([lease]);
        return;
      }
      if (!(error instanceof StoreUnavailable)) bug = new Error('a turn failed', { cause: error });
      for (const lease of batch) lease.fail(error);
    }
  };

  const work = async () => {
    try {
      while (due.size > 0) {
        await new Promise<void>((resolve) => clock.defer(resolve));
        // In one order everywhere, so that two gateways on one database don't wait in a circle.
        const batch = [...due].sort(byAccount).slice(0, BATCH_MAX);
        for (const lease of batch) due.delete(lease);
        await takeTurns(batch);
        for (const lease of batch) if (lease.isWaiting) void lookAgain(lease);
      }
    } finally {
      running = undefined;
    }
  };
  const turnSoon = (lease: AccountLease): Promise<void> => {
    if (leases.get(lease.accountId) === lease) due.add(lease);
    // Without anything to do, `work` would end before it is known to run, and then stay so for ever.
    if (due.size > 0) running ??= work();
    return running ?? Promise.resolve();
  };
  const lookAgain = async (lease: AccountLease) => {
    if (looking.has(lease)) return;
    looking.add(lease);
    await clock.sleep(RECALL_LOOK_MS);
    looking.delete(lease);
    await turnSoon(lease);
  };

  return {
    take(wanted) {
      const lease = leaseOf(wanted.accountId);
      const nowMs = clock.monotonicMs();
      if (lease.take(wanted, nowMs)) return TAKEN;
      return new Promise<Taken>((resolve, reject) => {
        const waiter: Waiter = { wanted, sinceMs: nowMs, resolve, reject };
        lease.wait(waiter);
        void turnSoon(lease);
      });
    },
    spend: (wanted) => leaseOf(wanted.accountId).spend(wanted, clock.monotonicMs()),
    giveBack: (wanted) => leaseOf(wanted.accountId).giveBack(wanted),
    async turn() {
      if (leases.size === 0) return;
      const recalled = store.isExclusive
        ? []
        : await store.read((db: Kysely<AccountTables>) => recalledAccounts(db, gateway));
      const nowMs = clock.monotonicMs();
      for (const accountId of recalled) leases.get(accountId)?.recall(nowMs);
      const needed = [...leases.values()].filter((lease) => lease.isDue(nowMs));
      await Promise.all([...needed, ...recalled.map(leaseOf)].map(turnSoon));
      const thrown = bug;
      bug = undefined;
      if (thrown) throw thrown;
    },
    async settle(accountId) {
      const lease = leases.get(accountId);
      if (!lease) return;
      lease.recall(clock.monotonicMs());
      await turnSoon(lease);
      // It was spent while another booking was being tried again.
      if (lease.isUnbooked) await turnSoon(lease);
    },
    async returnLapsed() {
      const which = store.isExclusive ? { notOf: gateway } : { lapsedAt: storeNow(store, clock) };
      const isAny = await store.read((db: Kysely<AccountTables>) => isAnyToReturn(db, which));
      if (!isAny) return 0;
      return store.write((tx: Kysely<AccountTables>) => returnLeases(tx, which));
    },
    async close() {
      for (let turns = 0; turns < 2; turns += 1) {
        for (const lease of leases.values()) lease.recall(clock.monotonicMs());
        await Promise.all([...leases.values()].map(turnSoon));
      }
    },
  };
}

const TAKEN = Promise.resolve('taken' as const);

const byAccount = (a: AccountLease, b: AccountLease) =>
  a.accountId < b.accountId ? -1 : a.accountId > b.accountId ? 1 : 0;
