import { sql } from 'kysely';
import type { Clock } from '../../ground/domain/ports.js';
import type { Bytes32, UsdcUnits } from '../../ground/domain/units.js';
import { unixMillis, usdcUnits, type UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { ChainState, Channel } from '../channels/channel.js';
import { channelOf, type ChannelTx } from './tables.js';

/** How far the contract's events are known. */
export interface Sync {
  /** Events up to here are known. */
  readonly syncedBlock: bigint;
  /** No reorganization is expected at or below it. */
  readonly safeBlock: bigint;
  readonly syncedAt: UnixMillis;
}

/** What the contract says of one channel: in the newest block, and in one that stays. */
export interface SeenState {
  readonly channelId: Bytes32;
  readonly newest: Omit<ChainState, 'block'>;
  /** Absent where that was not told: what was safe before stays safe, as far as it is there. */
  readonly safeBalance?: UsdcUnits;
}

/** One look at the contract. */
export interface Look {
  readonly head: { readonly number: bigint; readonly hash: Bytes32 };
  readonly safeBlock: bigint;
  /** The channels of which something may have changed since the last look. */
  readonly seen: readonly SeenState[];
}

/** A channel with charged searches that were not claimed. */
export interface UnclaimedChannel extends Channel {
  /** When the first of them was charged. */
  readonly unclaimedSince: UnixMillis;
}

/** What an operator has in channels. Amounts in atomic units. */
export interface ChannelTotals {
  /** Channels with money in them. */
  readonly open: number;
  /** Deposited less refunded, withdrawn and claimed: the payers' money. */
  readonly escrow: UsdcUnits;
  /** Charged and not claimed: what is lost if it is not claimed in time. */
  readonly unclaimed: UsdcUnits;
  /** Channels whose payer has begun to withdraw. */
  readonly withdrawing: number;
  /** Unix seconds at which the first of these withdrawals can be finished. */
  readonly nextWithdrawal?: number;
}

/** The books of channels, as far as the chain changes them. */
export class ChainBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly chainId: number,
  ) {}

  /** True where no other process can write into these books. */
  get isExclusive(): boolean {
    return this.store.isExclusive;
  }

  /** Where the last look ended; undefined before the first. */
  async lastSync(): Promise<Sync | undefined> {
    const row = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channel_syncs')
        .selectAll()
        .where('chain_id', '=', BigInt(this.chainId))
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    return {
      syncedBlock: row.synced_block,
      safeBlock: row.safe_block,
      syncedAt: unixMillis(Number(row.synced_at)),
    };
  }

  /** Channels whose events matter: never read, with money that is not claimed, or with something under way. */
  async watched(): Promise<readonly Bytes32[]> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .select('id')
        .where('chain_id', '=', BigInt(this.chainId))
        .where((is) =>
          is.or([
            is('state_block', 'is', null),
            is('balance', '<>', is.ref('claimed')),
            is('charged', '>', is.ref('claimed')),
            is('reserved', '>', 0n),
            is('frozen_at', 'is not', null),
          ]),
        )
        .execute(),
    );
    return rows.map(({ id }) => id as Bytes32);
  }

  /** Channels whose state a reorganization may still change: they are asked for at each look. */
  async unsafe(): Promise<readonly Bytes32[]> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .select('id')
        .where('chain_id', '=', BigInt(this.chainId))
        .where((is) =>
          is.or([
            is('safe_balance', '<>', is.ref('balance')),
            is('withdraw_initiated_at_seconds', 'is not', null),
            is('frozen_at', 'is not', null),
          ]),
        )
        .execute(),
    );
    return rows.map(({ id }) => id as Bytes32);
  }

  /**
   * Writes down one look: the states that it saw, and how far it went, in one commit. A state of an
   * older block than the recorded one changes nothing, whichever gateway brings it.
   */
  recordLook({ head, safeBlock, seen }: Look, lookedAt: UnixMillis): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      for (const { channelId, newest, safeBalance } of seen) {
        const { withdrawal } = newest;
        await tx
          .updateTable('channels')
          .set({
            balance: newest.balance,
            claimed: newest.claimed,
            refund_nonce: newest.refundNonce,
            withdraw_amount: withdrawal?.amount ?? null,
            withdraw_initiated_at_seconds: withdrawal ? BigInt(withdrawal.initiatedAt) : null,
            state_block: head.number,
            state_block_hash: head.hash,
            safe_balance: safeBalance ?? lesser('safe_balance', newest.balance),
          })
          .where('id', '=', channelId)
          .where((is) =>
            is.or([is('state_block', 'is', null), is('state_block', '<=', head.number)]),
          )
          .execute();
      }
      const sync = {
        synced_block: head.number,
        safe_block: safeBlock,
        synced_at: BigInt(lookedAt),
      };
      await tx
        .insertInto('channel_syncs')
        .values({ chain_id: BigInt(this.chainId), ...sync })
        .onConflict((conflict) =>
          conflict
            .column('chain_id')
            .doUpdateSet(sync)
            .where('channel_syncs.synced_at', '<=', BigInt(lookedAt)),
        )
        .execute();
    });
  }

  /** Channels with searches that were charged and not claimed, the longest waiting first. */
  async unclaimed(): Promise<readonly UnclaimedChannel[]> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .selectAll()
        .select((of) =>
          of
            .selectFrom('channel_vouchers')
            .select((min) => min.fn.min('charged_at').as('since'))
            .whereRef('channel_id', '=', 'channels.id')
            .whereRef('charged_after', '>', 'channels.claimed')
            .as('since'),
        )
        .where('chain_id', '=', BigInt(this.chainId))
        .whereRef('charged', '>', 'claimed')
        .orderBy('since')
        .execute(),
    );
    return rows.map((row) => {
      const since = row.since ?? row.charged_at ?? row.created_at;
      return { ...channelOf(row), unclaimedSince: unixMillis(Number(since)) };
    });
  }

  /** Channels that a refund has frozen. */
  async frozen(): Promise<readonly Channel[]> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .selectAll()
        .where('chain_id', '=', BigInt(this.chainId))
        .where('frozen_at', 'is not', null)
        .execute(),
    );
    return rows.map(channelOf);
  }

  /**
   * Freezes a channel for a refund. Undefined when it is frozen already, or when searches run: what
   * they will be charged must stay claimable.
   */
  freeze(channelId: Bytes32): Promise<Channel | undefined> {
    return this.store.write(async (tx: ChannelTx) => {
      const row = await tx
        .updateTable('channels')
        .set({ frozen_at: BigInt(this.clock.now()) })
        .where('id', '=', channelId)
        .where('frozen_at', 'is', null)
        .where('reserved', '=', 0n)
        .returningAll()
        .executeTakeFirst();
      return row && channelOf(row);
    });
  }

  /** Ends a freeze: the refund is final, or can never be made. */
  thaw(channelId: Bytes32): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      await tx
        .updateTable('channels')
        .set({ frozen_at: null })
        .where('id', '=', channelId)
        .execute();
    });
  }

  async totals(): Promise<ChannelTotals> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .select(['balance', 'claimed', 'charged', 'withdraw_delay_seconds as delay'])
        .select('withdraw_initiated_at_seconds as initiated')
        .where('chain_id', '=', BigInt(this.chainId))
        .where((is) => is.or([is('balance', '>', 0n), is('charged', '>', is.ref('claimed'))]))
        .execute(),
    );
    const sum = (of: (row: (typeof rows)[number]) => bigint): UsdcUnits =>
      usdcUnits(rows.reduce((total, row) => total + of(row), 0n));
    const ends = rows.flatMap(({ initiated, delay }) =>
      initiated === null ? [] : [Number(initiated + delay)],
    );
    return {
      open: rows.filter(({ balance }) => balance > 0n).length,
      escrow: sum(({ balance, claimed }) => balance - claimed),
      unclaimed: sum(({ charged, claimed }) => (charged > claimed ? charged - claimed : 0n)),
      withdrawing: ends.length,
      ...(ends.length > 0 && { nextWithdrawal: Math.min(...ends) }),
    };
  }
}

/** A column's value, or this one where it is less. */
const lesser = (column: string, value: bigint) =>
  sql<bigint>`case when ${sql.ref(column)} < ${value} then ${sql.ref(column)} else ${value} end`;
