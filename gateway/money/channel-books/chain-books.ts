import type { Clock } from '../../ground/domain/ports.js';
import { bytes32, unixMillis, type Bytes32, type UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { Channel, ChainState } from '../channels/channel.js';
import { channelOf, type ChannelTx } from './tables.js';
import { completeDeposit, selectChannel } from './voucher-rows.js';

/** How far the contract's events are known. */
export interface Sync {
  readonly syncedBlock: bigint;
  /** Events are read again from here on: no reorganization is expected at or below it. */
  readonly safeBlock: bigint;
  readonly syncedAt: UnixMillis;
}

/** What a channel is at one block. */
export interface ReadState extends ChainState {
  readonly channelId: Bytes32;
  readonly block: { readonly number: bigint; readonly hash: Bytes32 };
}

/** Channels and parameters of one statement: both engines take several thousand. */
const IDS_AT_ONCE = 500;

/** The books of channels as whoever follows the chain keeps them. */
export class ChannelChainBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
    private readonly chainId: number,
  ) {}

  async sync(): Promise<Sync | undefined> {
    const row = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channel_syncs')
        .selectAll()
        .where('chain_id', '=', BigInt(this.chainId))
        .executeTakeFirst(),
    );
    return (
      row && {
        syncedBlock: row.synced_block,
        safeBlock: row.safe_block,
        syncedAt: unixMillis(Number(row.synced_at)),
      }
    );
  }

  /**
   * Records that everything up to a block is known. It only ever moves forward: of two gateways the
   * one that is behind changes nothing.
   * @param startedAt when the look began: what happened later is not known by it.
   */
  recordSync(
    blocks: Pick<Sync, 'syncedBlock' | 'safeBlock'>,
    startedAt: UnixMillis,
  ): Promise<void> {
    const now = BigInt(startedAt);
    return this.store.write(async (tx: ChannelTx) => {
      const chain_id = BigInt(this.chainId);
      const values = {
        synced_block: blocks.syncedBlock,
        safe_block: blocks.safeBlock,
        synced_at: now,
      };
      await tx
        .insertInto('channel_syncs')
        .values({ chain_id, ...values })
        .onConflict((conflict) =>
          conflict
            .column('chain_id')
            .doUpdateSet(values)
            .where('channel_syncs.synced_at', '<=', now),
        )
        .execute();
    });
  }

  /** Those of these ids that are channels of ours. */
  async known(ids: readonly Bytes32[]): Promise<readonly Bytes32[]> {
    const known: Bytes32[] = [];
    for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
      const some = ids.slice(from, from + IDS_AT_ONCE);
      const rows = await this.store.read((db: ChannelTx) =>
        db.selectFrom('channels').select('id').where('id', 'in', some).execute(),
      );
      known.push(...rows.map(({ id }) => bytes32(id)));
    }
    return known;
  }

  /** Channels whose state may still change without an event: not safe, withdrawing, or frozen. */
  async unsettled(limit: number): Promise<readonly Channel[]> {
    const rows = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channels')
        .selectAll()
        .where('chain_id', '=', BigInt(this.chainId))
        .where((row) =>
          row.or([
            row('safe_balance', '<>', row.ref('balance')),
            row('withdraw_initiated_at_seconds', 'is not', null),
            row('frozen_at', 'is not', null),
          ]),
        )
        .limit(limit)
        .execute(),
    );
    return rows.map(channelOf);
  }

  /**
   * Records what the contract says. A state that is the recorded one keeps its older block, so that
   * it becomes safe in time; a state of an older block than the recorded one changes nothing.
   */
  recordStates(states: readonly ReadState[]): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      for (const state of states) {
        const { channelId, block, balance, claimed, refundNonce, withdrawal } = state;
        const before = await selectChannel(tx, channelId);
        if (!before || isSame(channelOf(before).onChain, state)) continue;
        if (before.state_block !== null && before.state_block > block.number) continue;
        await tx
          .updateTable('channels')
          .set({
            ...{ balance, claimed, refund_nonce: refundNonce },
            withdraw_amount: withdrawal?.amount ?? null,
            withdraw_initiated_at_seconds:
              withdrawal === undefined ? null : BigInt(withdrawal.initiatedAt),
            ...{ state_block: block.number, state_block_hash: block.hash },
            // What was safe stays safe, unless it has left the channel since.
            ...(balance < before.safe_balance && { safe_balance: balance }),
          })
          .where('id', '=', channelId)
          .execute();
      }
    });
  }

  /** The balances of these channels are safe: their blocks are below the safe head. */
  recordSafe(channels: readonly Pick<Channel, 'id' | 'onChain'>[]): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      for (const { id, onChain } of channels) {
        await tx
          .updateTable('channels')
          .set((row) => ({ safe_balance: row.ref('balance') }))
          .where('id', '=', id)
          .where('state_block_hash', '=', onChain.block?.hash ?? '')
          .execute();
      }
    });
  }

  /** The blocks of these states have left the chain, but what they said holds at a later block. */
  recordMoved(states: readonly ReadState[]): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      for (const { channelId, block } of states) {
        await tx
          .updateTable('channels')
          .set({ state_block: block.number, state_block_hash: block.hash })
          .where('id', '=', channelId)
          .execute();
      }
    });
  }

  /** Charges vouchers whose deposits have settled while nobody waited. Returns how many. */
  async completeDeposits(): Promise<number> {
    const open = await this.store.read((db: ChannelTx) =>
      db
        .selectFrom('channel_vouchers')
        .innerJoin('payments', 'payments.id', 'channel_vouchers.payment_id')
        .select(['channel_id', 'cumulative'])
        .where('channel_vouchers.charged_at', 'is', null)
        .where('payments.settled_at', 'is not', null)
        .limit(IDS_AT_ONCE)
        .execute(),
    );
    for (const { channel_id, cumulative } of open) {
      await this.store.write((tx: ChannelTx) =>
        completeDeposit(
          tx,
          { channelId: bytes32(channel_id), cumulative },
          BigInt(this.clock.now()),
        ),
      );
    }
    return open.length;
  }
}

function isSame(a: ChainState, b: ChainState): boolean {
  return (
    a.block !== undefined &&
    a.balance === b.balance &&
    a.claimed === b.claimed &&
    a.refundNonce === b.refundNonce &&
    a.withdrawal?.initiatedAt === b.withdrawal?.initiatedAt &&
    a.withdrawal?.amount === b.withdrawal?.amount
  );
}
