import type { SearchRequest } from '../../search-core/contract.js';
import type { ChannelBooks, CheckedVoucher } from '../money/channel-books/books.js';
import type { VoucherReservation } from '../money/channel-books/vouchers.js';
import type { Channel } from '../money/channels/channel.js';
import type { CheckedChannelPayment } from '../money/channels/check.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { RunContext, RunSearch } from './answer.js';
import {
  corrected,
  refuseVoucher,
  RUNNING,
  SPENT,
  UNKNOWN_CHANNEL,
  VOUCHER_EXPIRED,
  voucherReceipt,
} from './channel-replies.js';
import { RELEASED } from './paid-replies.js';
import { foundIn, refused, soldOf, type SearchReply } from './reply.js';
import { createSharedWork } from './shared-work.js';

/** What is asked of each voucher now. Amounts in atomic units. */
export interface VoucherTerms {
  readonly price: bigint;
  readonly window: bigint;
  readonly unsafeMax: bigint;
}

export interface VoucherSearchParts {
  readonly books: Pick<ChannelBooks, 'look' | 'reserve' | 'release' | 'charge'>;
  readonly terms: () => VoucherTerms;
}

/** One search that a voucher is to pay for. */
export interface VoucherPurchase {
  readonly request: SearchRequest;
  readonly binding: RequestBinding;
  readonly run: RunSearch;
  readonly requestId: string;
}

/** The voucher as the books take it. */
export function voucherFor(
  payment: CheckedChannelPayment,
  { binding, requestId }: Pick<VoucherPurchase, 'binding' | 'requestId'>,
  terms: VoucherTerms,
  deposit = 0n,
): CheckedVoucher {
  const { channelId, cumulative, signature } = payment;
  return { channelId, cumulative, signature, binding, requestId, deposit, ...terms };
}

/**
 * Reserve, search, charge, reply: no chain, and two commits. However often and wherever one voucher
 * is presented, it buys one search, and every presenter of the same request gets one reply.
 */
export function createVoucherSearch({ books, terms }: VoucherSearchParts) {
  const shared = createSharedWork<SearchReply>();

  const serve = async (
    voucher: CheckedVoucher,
    channel: Channel,
    { request, run }: VoucherPurchase,
    context: RunContext,
  ): Promise<SearchReply> => {
    const { requestId } = context;
    const answer = await run(request, context).catch(async (bug: unknown) => {
      await books.release(voucher);
      throw bug;
    });
    if (answer.kind === 'refusal') {
      await books.release(voucher);
      return refused(requestId, answer);
    }
    const charged = await books.charge(voucher, answer.body, answer.generation);
    // Only a reservation that counted as dead, and was taken from us, is not charged.
    if (!charged) return refused(requestId, RELEASED);
    const receipt = voucherReceipt(charged, channel);
    const { body, resultCount } = answer;
    const sold = soldOf(charged, answer);
    return { kind: 'results', requestId, body, resultCount, receipt, sold, ...foundIn(answer) };
  };

  const buy = async (
    payment: CheckedChannelPayment,
    purchase: VoucherPurchase,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const { requestId } = purchase;
    const { objection } = payment;
    const voucher = voucherFor(payment, purchase, terms());
    const reservation = objection ? await books.look(voucher) : await books.reserve(voucher);
    switch (reservation.kind) {
      case 'reserved':
        return serve(voucher, reservation.channel, purchase, { requestId, signal });
      case 'unused':
        return refused(requestId, objection ?? RUNNING);
      default:
        return replyWithoutSearch(reservation, purchase);
    }
  };

  return (
    payment: CheckedChannelPayment,
    purchase: VoucherPurchase,
    signal: AbortSignal,
  ): Promise<SearchReply> => {
    const { channelId, cumulative } = payment;
    const key = `${channelId} ${cumulative} ${purchase.binding}`;
    return shared.join(key, signal, (end) => buy(payment, purchase, end));
  };
}

/** What is said to a voucher that buys nothing now. */
export function replyWithoutSearch(
  reservation: Exclude<VoucherReservation, { kind: 'reserved' }>,
  { requestId, binding }: Pick<VoucherPurchase, 'requestId' | 'binding'>,
): SearchReply {
  switch (reservation.kind) {
    case 'unknown':
      return refused(requestId, UNKNOWN_CHANNEL);
    case 'refused':
      return corrected(requestId, refuseVoucher(reservation.because), reservation.channel);
    case 'running':
      return reservation.binding === binding
        ? refused(requestId, RUNNING)
        : corrected(requestId, refuseVoucher('busy'), reservation.channel);
    case 'charged': {
      const { voucher, channel } = reservation;
      // With its receipt: a client that has no RPC books the charge by it, and goes on.
      const receipt = voucherReceipt(voucher, channel);
      if (voucher.binding !== binding) return corrected(requestId, SPENT, channel, receipt);
      if (!voucher.reply) return corrected(requestId, VOUCHER_EXPIRED, channel, receipt);
      const { reply } = voucher;
      const { body, requestId: first } = reply;
      const sold = soldOf(voucher, reply);
      return { kind: 'results', requestId: first, body, receipt, sold, ...foundIn(reply) };
    }
  }
}
