import type { Bytes32, Hex, UnixMillis, UsdcUnits } from '../../ground/domain/units.js';
import { unixMillis, usdcUnits } from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';
import type { StoredReply } from '../ledger/payment.js';
import type { VoucherRow } from './tables.js';

/** The channel as a receipt tells it, when a voucher was charged. */
export interface ChargeState {
  readonly charged: UsdcUnits;
  readonly balance: UsdcUnits;
  readonly claimed: UsdcUnits;
  readonly refundNonce: bigint;
}

/** A voucher that has bought a search. */
export interface ChargedVoucher {
  readonly channelId: Bytes32;
  readonly cumulative: bigint;
  readonly binding: Hex;
  readonly price: UsdcUnits;
  /** When it was charged. */
  readonly at: UnixMillis;
  readonly after: ChargeState;
  /** Absent once its retention has passed. */
  readonly reply?: StoredReply;
}

/** The answer to a reservation: of all who ask with one voucher, over all gateways, one reserves. */
export type VoucherReservation =
  | { readonly kind: 'reserved'; readonly channel: Channel }
  /** This voucher has bought a search, for this request or for another one. */
  | { readonly kind: 'charged'; readonly voucher: ChargedVoucher; readonly channel: Channel }
  /** Its search runs, for this request or for another one. */
  | {
      readonly kind: 'running';
      readonly binding: Hex;
      readonly paymentId?: string;
      readonly channel: Channel;
    }
  /** The rules say no. */
  | { readonly kind: 'refused'; readonly because: VoucherObjection; readonly channel: Channel }
  | { readonly kind: 'unknown' };

/** Why a voucher that was not used before is not taken. */
export type VoucherObjection =
  | 'busy'
  | 'amount-mismatch'
  | 'below-claimed'
  | 'exceeds-balance'
  | 'unsafe'
  | 'withdrawing'
  | 'frozen'
  | 'stale';

/** A charged row of the books as the rest of the gateway knows it. */
export function chargedOf(row: VoucherRow): ChargedVoucher {
  const { charged_after: charged, balance_after: balance, claimed_after: claimed } = row;
  if (row.charged_at === null || charged === null || balance === null || claimed === null) {
    throw new Error('a charged voucher without the state of its channel');
  }
  return {
    channelId: row.channel_id as Bytes32,
    cumulative: row.cumulative,
    binding: row.binding as Hex,
    price: usdcUnits(row.price),
    at: unixMillis(Number(row.charged_at)),
    after: {
      charged: usdcUnits(charged),
      balance: usdcUnits(balance),
      claimed: usdcUnits(claimed),
      refundNonce: row.refund_nonce_after ?? 0n,
    },
    ...(row.reply_body && {
      reply: {
        body: row.reply_body,
        contentType: 'application/json',
        requestId: row.request_id,
        ...(row.reply_generation !== null && { generation: Number(row.reply_generation) }),
      },
    }),
  };
}
