import type { Clock } from '../../ground/domain/ports.js';
import { bytes32, type Bytes32 } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import type { ChainState } from '../channels/channel.js';
import type { ChannelTx } from './tables.js';
import { completeDeposit } from './voucher-rows.js';

/** Deposits of one round. */
const DEPOSITS_MAX = 500;

/** What a settled deposit changes in the books of channels. */
export class DepositBooks {
  constructor(
    private readonly store: Store,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /**
   * Records what the contract says of a channel at the newest block. The balance that is safe stays as
   * it was, until the watcher's look finds more; an older block than the recorded one changes nothing.
   */
  recordState(
    channelId: Bytes32,
    { balance, claimed, refundNonce, withdrawal }: Omit<ChainState, 'block'>,
    head: { readonly number: bigint; readonly hash: Bytes32 },
  ): Promise<void> {
    return this.store.write(async (tx: ChannelTx) => {
      await tx
        .updateTable('channels')
        .set({
          ...{ balance, claimed, refund_nonce: refundNonce },
          withdraw_amount: withdrawal?.amount ?? null,
          withdraw_initiated_at_seconds:
            withdrawal === undefined ? null : BigInt(withdrawal.initiatedAt),
          ...{ state_block: head.number, state_block_hash: head.hash },
        })
        .where('id', '=', channelId)
        .where((row) =>
          row.or([row('state_block', 'is', null), row('state_block', '<=', head.number)]),
        )
        .execute();
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
        .limit(DEPOSITS_MAX)
        .execute(),
    );
    const now = BigInt(this.clock.now());
    for (const { channel_id, cumulative } of open) {
      const voucher = { channelId: bytes32(channel_id), cumulative };
      await this.store.write((tx: ChannelTx) => completeDeposit(tx, voucher, now));
    }
    return open.length;
  }
}
