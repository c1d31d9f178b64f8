import type { Clock } from '../../ground/domain/ports.js';
import type { Address } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { LedgerTx } from './transition.js';

/** A relayer key that this process alone may sign with, until it is lost to another. */
export interface LaneLease {
  readonly chainId: number;
  readonly relayer: Address;
  readonly owner: string;
  /** Rises whenever the key changes hands: what was signed under an older one is not recorded. */
  readonly epoch: bigint;
}

/**
 * Who is alive, and who holds which relayer key. A process renews its presence; one that has not
 * done so for the time of a lease counts as dead, and its keys and payments may be taken over.
 *
 * Wall clocks of several machines may differ: leases only keep gateways out of each other's way.
 * What keeps the books right is the epoch, which is checked in the commit that records a nonce.
 */
export class LeaseBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** True when no other process can use this database, so that every other owner is dead. */
  get isAlone(): boolean {
    return this.store.isExclusive;
  }

  /** Says that `owner` is alive for another `leaseMs`, and forgets those who are long dead. */
  beat(owner: string, leaseMs: number): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      const now = this.clock.now();
      const until = BigInt(now + leaseMs);
      await tx
        .insertInto('gateways')
        .values({ owner, seen_until: until })
        .onConflict((conflict) => conflict.column('owner').doUpdateSet({ seen_until: until }))
        .execute();
      const longAgo = BigInt(Math.max(now - FORGET_MS, 0));
      await tx.deleteFrom('gateways').where('seen_until', '<', longAgo).execute();
    });
  }

  /** Says that `owner` is about to end: others need not wait for its leases to run out. */
  leave(owner: string): Promise<void> {
    return this.store.write(async (tx: LedgerTx) => {
      await tx.deleteFrom('gateways').where('owner', '=', owner).execute();
    });
  }

  /** Every process that counts as alive. */
  async living(self: string): Promise<ReadonlySet<string>> {
    if (this.isAlone) return new Set([self]);
    return this.store.read((db: LedgerTx) => livingOwners(db, this.clock.now(), self));
  }

  /** Takes a relayer key that is free or whose holder is dead; undefined when another has it. */
  takeLane(chainId: number, relayer: Address, owner: string): Promise<LaneLease | undefined> {
    return this.store.write(async (tx: LedgerTx) => {
      const lease = { chain_id: BigInt(chainId), relayer, owner, epoch: 1n };
      const inserted = await tx
        .insertInto('lanes')
        .values(lease)
        .onConflict((conflict) => conflict.doNothing())
        .returning('epoch')
        .executeTakeFirst();
      if (inserted) return { chainId, relayer, owner, epoch: inserted.epoch };
      const held = await tx
        .selectFrom('lanes')
        .select(['owner', 'epoch'])
        .where('chain_id', '=', lease.chain_id)
        .where('relayer', '=', relayer)
        .executeTakeFirstOrThrow();
      if (held.owner === owner) return { chainId, relayer, owner, epoch: held.epoch };
      const living = this.isAlone
        ? new Set([owner])
        : await livingOwners(tx, this.clock.now(), owner);
      if (living.has(held.owner)) return undefined;
      const epoch = held.epoch + 1n;
      await tx
        .updateTable('lanes')
        .set({ owner, epoch })
        .where('chain_id', '=', lease.chain_id)
        .where('relayer', '=', relayer)
        .execute();
      return { chainId, relayer, owner, epoch };
    });
  }

  /** True while the key has not changed hands. */
  async holds(lease: LaneLease): Promise<boolean> {
    return this.store.read((db: LedgerTx) => holdsLane(db, lease));
  }
}

/** Dead processes stay listed for a day, so that an operator can see them. */
const FORGET_MS = 86_400_000;

async function livingOwners(db: LedgerTx, now: number, self: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('gateways')
    .select('owner')
    .where('seen_until', '>=', BigInt(now))
    .execute();
  return new Set([self, ...rows.map((row) => row.owner)]);
}

/** Whether a lease still stands, as the caller's transaction sees it. */
export async function holdsLane(db: LedgerTx, lease: LaneLease): Promise<boolean> {
  const row = await db
    .selectFrom('lanes')
    .select(['owner', 'epoch'])
    .where('chain_id', '=', BigInt(lease.chainId))
    .where('relayer', '=', lease.relayer)
    .executeTakeFirst();
  return row?.owner === lease.owner && row.epoch === lease.epoch;
}
