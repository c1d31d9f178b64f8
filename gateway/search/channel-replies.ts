import { refuse, type Refusal } from '../ground/domain/refusal.js';
import type { ChargedVoucher, VoucherObjection } from '../money/channel-books/vouchers.js';
import type { Channel } from '../money/channels/channel.js';
import { channelReasons } from '../money/x402/channel-reasons.js';
import type { ChannelCorrection, ChannelState } from '../money/x402/channel-state.js';
import type { ChannelReceipt, Receipt } from '../money/x402/receipt.js';
import { refused, type SearchReply } from './reply.js';

/** A channel as its payer is told of it. */
export function stateOf({ id, charged, onChain }: Channel): ChannelState {
  const { balance, claimed, refundNonce, withdrawal } = onChain;
  return {
    ...{ channelId: id, balance, claimed, refundNonce, charged },
    ...(withdrawal && { withdrawRequestedAt: withdrawal.initiatedAt }),
  };
}

/** What brings a payer back that disagrees about its channel. */
export function correctionOf(channel: Channel): ChannelCorrection {
  const { signed, signature } = channel;
  return {
    state: stateOf(channel),
    ...(signature !== undefined && { voucher: { signed, signature } }),
  };
}

/** The receipt of a charged voucher: the same each time, whatever was charged since. */
export function voucherReceipt(
  { channelId, price, after }: ChargedVoucher,
  { chainId, config }: Pick<Channel, 'chainId' | 'config'>,
  moved?: ChannelReceipt['moved'],
): Receipt {
  const { charged, balance, claimed, refundNonce } = after;
  return {
    chainId,
    payer: config.payer,
    channel: { channelId, balance, claimed, refundNonce, charged },
    chargedAmount: price,
    ...(moved && { moved }),
  };
}

/** A refusal with what the payer needs to know of its channel to go on. */
export function corrected(
  requestId: string,
  refusal: Refusal,
  channel: Channel,
  receipt?: Receipt,
): SearchReply {
  const reply = refused(requestId, refusal, receipt);
  if (reply.kind !== 'refused' || !reply.offer) return reply;
  return { ...reply, offer: { ...reply.offer, correction: correctionOf(channel) } };
}

/** Seconds after which a state that is not known well enough may be known. */
const STATE_SECONDS = 5;

/** Why a voucher that was not used before is not taken. */
export function refuseVoucher(because: VoucherObjection): Refusal {
  switch (because) {
    case 'busy':
      return invalid(
        'Searches of this channel run that have all that is signed. Sign a higher voucher, or wait.',
        channelReasons.busy,
      );
    case 'amount-mismatch':
      return invalid(
        'The voucher must promise what is charged and the price of this search, and no more than ' +
          'the window ahead.',
        channelReasons.amountMismatch,
      );
    case 'below-claimed':
      return invalid(
        'More than this voucher promises is claimed already.',
        channelReasons.belowClaimed,
      );
    case 'exceeds-balance':
      return invalid(
        'The voucher promises more than the channel holds.',
        channelReasons.exceedsBalance,
      );
    case 'withdrawing':
      return invalid(
        'The payer is withdrawing from this channel. Pay another way, or open another channel.',
        channelReasons.stateUnavailable,
      );
    case 'frozen':
      return invalid(
        'A refund of this channel is under way. Pay another way until it is done.',
        channelReasons.stateUnavailable,
      );
    case 'unsafe':
      return later(
        'The deposit’s block is not safe yet, and what may be spent before that is spent.',
      );
    case 'stale':
      return later('The chain was not reached for too long to take vouchers.');
  }
}

/** The voucher has bought another search. */
export const SPENT = invalid(
  'This voucher has paid for another search. Sign the next one.',
  channelReasons.amountMismatch,
);

/** The voucher has bought this search, and its reply is no longer kept. */
export const VOUCHER_EXPIRED = invalid(
  'This voucher paid for a search whose reply is no longer kept. Sign the next one.',
  channelReasons.amountMismatch,
);

/** Nothing was ever deposited here under this configuration. */
export const UNKNOWN_CHANNEL = invalid(
  'This service knows no such channel. Open it with a deposit.',
  channelReasons.channelNotFound,
);

/** Another gateway runs its search. */
export const RUNNING = refuse(
  'settlement_pending',
  'The search of this voucher is under way. Send the same voucher again to get the results.',
  { retryAfterSeconds: 1 },
);

function invalid(detail: string, reason: string): Refusal {
  return refuse('payment_invalid', detail, { reason });
}

function later(detail: string): Refusal {
  return refuse(
    'payments_unavailable',
    `${detail} Nothing was charged; send the same voucher again.`,
    {
      retryAfterSeconds: STATE_SECONDS,
      reason: channelReasons.stateUnavailable,
    },
  );
}
