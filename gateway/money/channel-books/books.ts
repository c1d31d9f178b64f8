import type { Clock } from '../../ground/domain/ports.js';
import type { Bytes32, Hex } from '../../ground/domain/units.js';
import { unixMillis, type UnixMillis } from '../../ground/domain/units.js';
import type { Store } from '../../ground/store/store.js';
import { mayDeposit, mayVouch, statusOf, type Channel } from '../channels/channel.js';
import { judgeVoucher, type VoucherAsk } from '../channels/rules.js';
import type { ChannelConfig } from '../x402/channel-payload.js';
import { ChannelTurns } from './channel-turns.js';
import { channelOf, type ChannelRow, type ChannelTx } from './tables.js';
import {
  addReserved,
  chargeVoucher,
  completeDeposit,
  countReservation,
  insertVoucher,
  NotHeld,
  own,
  selectChannel,
  selectVoucher,
  usedVoucher,
  type HeldVoucher,
  type VoucherName,
} from './voucher-rows.js';
import type { ChargedVoucher, VoucherObjection, VoucherReservation } from './vouchers.js';

/** A voucher whose signature was found good, and what it is to pay for. */
export interface CheckedVoucher extends VoucherAsk {
  readonly channelId: Bytes32;
  readonly signature: Hex;
  /** What the search is; another one may not be paid for with the same voucher. */
  readonly binding: Hex;
  readonly requestId: string;
}

export interface ChannelBookParts {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly chainId: number;
  /** Names this process, differently at each start: its reservations die with it. */
  readonly owner: string;
  /** No search lasts as long; a reservation that is older is void. */
  readonly searchMsMax: number;
  /** What claiming takes at worst, in milliseconds. */
  readonly claimMarginMs: number;
}

/** Milliseconds for which the time of the last look at the chain is remembered. */
const SYNC_MS = 1000;

/** The books of channels, as far as one search needs them. Every method that writes is durable. */
export class ChannelBooks {
  readonly #turns = new ChannelTurns();
  #sync: { readonly readAt: UnixMillis; readonly syncedAt: UnixMillis } | undefined;

  constructor(private readonly parts: ChannelBookParts) {}

  async find(channelId: Bytes32): Promise<Channel | undefined> {
    const row = await this.parts.store.read((db: ChannelTx) => selectChannel(db, channelId));
    return row && channelOf(row);
  }

  /** Makes a channel known, for its first deposit; one that is known stays as it is. */
  open(channelId: Bytes32, config: ChannelConfig): Promise<void> {
    const { store, chainId, clock } = this.parts;
    return store.write(async (tx: ChannelTx) => {
      await tx
        .insertInto('channels')
        .values({
          id: channelId,
          chain_id: BigInt(chainId),
          payer: config.payer,
          payer_authorizer: config.payerAuthorizer,
          receiver: config.receiver,
          receiver_authorizer: config.receiverAuthorizer,
          token: config.token,
          withdraw_delay_seconds: BigInt(config.withdrawDelay),
          salt: config.salt,
          created_at: BigInt(clock.now()),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
  }

  /**
   * Takes a voucher for one search, and keeps its signature where it is the highest. Concurrent calls
   * for one (channel, cumulative), over all gateways, see exactly one `reserved` between them.
   */
  reserve(voucher: CheckedVoucher): Promise<VoucherReservation> {
    return this.#write(voucher, async (tx: ChannelTx): Promise<VoucherReservation> => {
      const known = await selectChannel(tx, voucher.channelId);
      if (!known) return { kind: 'unknown' };
      const row = await this.#withoutVoid(tx, known);
      const channel = channelOf(row);
      const because = (await this.#objection(tx, channel, voucher)) ?? rulesOf(channel, voucher);
      const reserved = because ? undefined : await this.#insert(tx, row, voucher);
      if (reserved) return { kind: 'reserved', channel: reserved };
      // It was presented before, which goes before whatever is wrong with it now.
      const used = await selectVoucher(tx, voucher.channelId, voucher.cumulative);
      if (used) return usedVoucher(used, channel);
      if (!because) throw new Error('a voucher is neither free nor taken');
      return { kind: 'refused', because, channel };
    });
  }

  /** What became of a voucher, without taking it: `unused` where nothing did. */
  look({
    channelId,
    cumulative,
  }: VoucherName): Promise<
    Exclude<VoucherReservation, { kind: 'reserved' | 'refused' }> | { readonly kind: 'unused' }
  > {
    return this.parts.store.read(async (db: ChannelTx) => {
      const row = await selectChannel(db, channelId);
      if (!row) return { kind: 'unknown' };
      const used = await selectVoucher(db, channelId, cumulative);
      return used ? usedVoucher(used, channelOf(row)) : { kind: 'unused' };
    });
  }

  /** Names the deposit that a reserved voucher came with: from now on that decides about it. */
  attach(voucher: CheckedVoucher, paymentId: string): Promise<boolean> {
    return this.#write(voucher, async (tx: ChannelTx) => {
      const attached = await own(tx, voucher)
        .set({ payment_id: paymentId })
        .returning('cumulative')
        .executeTakeFirst();
      return attached !== undefined;
    });
  }

  /** Gives a reservation back: its search has failed. Once more does nothing. */
  release(voucher: HeldVoucher): Promise<void> {
    return this.#write(voucher, async (tx: ChannelTx) => {
      const gone = await tx
        .deleteFrom('channel_vouchers')
        .where('channel_id', '=', voucher.channelId)
        .where('cumulative', '=', voucher.cumulative)
        .where('request_id', '=', voucher.requestId)
        .where('charged_at', 'is', null)
        .returning('cumulative')
        .executeTakeFirst();
      if (gone) await addReserved(tx, voucher.channelId, -1n);
    });
  }

  /**
   * Stores the reply and charges the channel, in one commit. Undefined when the reservation is not
   * ours any more: nothing was charged, and the reply must not leave.
   */
  async charge(
    voucher: HeldVoucher & Pick<CheckedVoucher, 'price'>,
    body: Uint8Array,
    generation?: number,
  ): Promise<ChargedVoucher | undefined> {
    const { clock } = this.parts;
    const reply = { body, generation: generation === undefined ? null : BigInt(generation) };
    try {
      return await this.#write(voucher, (tx: ChannelTx) =>
        chargeVoucher(tx, voucher, reply, BigInt(clock.now())),
      );
    } catch (error) {
      if (error instanceof NotHeld) return undefined;
      throw error;
    }
  }

  /** Gives back the voucher that came with a deposit whose search has failed. */
  releaseDeposit(paymentId: string): Promise<void> {
    return this.parts.store.write(async (tx: ChannelTx) => {
      const gone = await tx
        .deleteFrom('channel_vouchers')
        .where('payment_id', '=', paymentId)
        .where('charged_at', 'is', null)
        .returning('channel_id')
        .executeTakeFirst();
      if (gone) await addReserved(tx, gone.channel_id, -1n);
    });
  }

  /**
   * Charges the voucher that came with a deposit, once that has settled; again it finds what was
   * charged. Undefined while the deposit is not settled, or where it has none.
   */
  completeDeposit(voucher: VoucherName): Promise<ChargedVoucher | undefined> {
    return this.#write(voucher, (tx: ChannelTx) =>
      completeDeposit(tx, voucher, BigInt(this.parts.clock.now())),
    );
  }

  /** One transaction at a time for each channel; SQLite runs all of them one by one anyway. */
  #write<T>({ channelId }: VoucherName, work: (tx: ChannelTx) => Promise<T>): Promise<T> {
    const { store } = this.parts;
    return store.engine === 'sqlite'
      ? store.write(work)
      : this.#turns.take(channelId, () => store.write(work));
  }

  /** The channel's row once reservations that nobody will answer are gone from it. */
  async #withoutVoid(tx: ChannelTx, row: ChannelRow): Promise<ChannelRow> {
    if (row.reserved === 0n) return row;
    const { store, clock, owner, searchMsMax } = this.parts;
    const open = await tx
      .selectFrom('channel_vouchers')
      .leftJoin('payments', 'payments.id', 'channel_vouchers.payment_id')
      .select(['cumulative', 'channel_vouchers.owner as holder', 'payment_id'])
      .select(['channel_vouchers.reserved_at as since', 'served_at', 'released_at', 'failed_at'])
      .where('channel_id', '=', row.id)
      .where('charged_at', 'is', null)
      .execute();
    const now = clock.now();
    const isVoid = (one: (typeof open)[number]): boolean => {
      if (one.released_at !== null || one.failed_at !== null) return true;
      if (one.payment_id !== null && one.served_at !== null) return false;
      // Between its voucher and its reply a deposit has a few commits of its own.
      const msMax = one.payment_id === null ? searchMsMax : 2 * searchMsMax;
      return one.since < BigInt(now - msMax) || (store.isExclusive && one.holder !== owner);
    };
    const gone = open.filter(isVoid).map(({ cumulative }) => cumulative);
    if (gone.length === 0) return row;
    await tx
      .deleteFrom('channel_vouchers')
      .where('channel_id', '=', row.id)
      .where('cumulative', 'in', gone)
      .execute();
    return addReserved(tx, row.id, BigInt(-gone.length));
  }

  async #objection(
    tx: ChannelTx,
    channel: Channel,
    { deposit }: CheckedVoucher,
  ): Promise<VoucherObjection | undefined> {
    const { clock, claimMarginMs } = this.parts;
    const syncedAt = await this.#syncedAt(tx);
    const status = statusOf(channel, { syncedAt, now: clock.now(), marginMs: claimMarginMs });
    if (deposit > 0n ? mayDeposit(status) : mayVouch(status)) return undefined;
    return status === 'empty' || status === 'open' ? 'exceeds-balance' : status;
  }

  /** When the chain was last looked at, remembered for a moment: what is remembered is only older. */
  async #syncedAt(tx: ChannelTx): Promise<UnixMillis | undefined> {
    const now = this.parts.clock.now();
    if (this.#sync && Math.abs(now - this.#sync.readAt) < SYNC_MS) return this.#sync.syncedAt;
    const row = await tx
      .selectFrom('channel_syncs')
      .select('synced_at')
      .where('chain_id', '=', BigInt(this.parts.chainId))
      .executeTakeFirst();
    if (!row) return undefined;
    this.#sync = { readAt: now, syncedAt: unixMillis(Number(row.synced_at)) };
    return this.#sync.syncedAt;
  }

  /** Undefined where the voucher was presented before. */
  async #insert(
    tx: ChannelTx,
    row: ChannelRow,
    voucher: CheckedVoucher,
  ): Promise<Channel | undefined> {
    const { cumulative, signature } = voucher;
    const [inserted] = await insertVoucher(tx, {
      ...voucher,
      ...{ owner: this.parts.owner, now: BigInt(this.parts.clock.now()) },
    });
    if (!inserted) return undefined;
    // Always written: two gateways that reserve at once conflict here, and one looks again.
    const isHighest = cumulative > row.signed;
    const changed = {
      id: row.id,
      reserved: row.reserved + 1n,
      signed: isHighest ? cumulative : row.signed,
      signature: isHighest ? signature : row.signature,
    };
    await countReservation(tx, changed);
    return channelOf({ ...row, ...changed });
  }
}

function rulesOf(channel: Channel, voucher: CheckedVoucher): VoucherObjection | undefined {
  const verdict = judgeVoucher(channel, voucher);
  return verdict === 'fits' ? undefined : verdict;
}
