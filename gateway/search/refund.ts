import { refuse, type Refusal } from '../ground/domain/refusal.js';
import type { UsdcUnits } from '../ground/domain/units.js';
import { usdcUnits } from '../ground/domain/units.js';
import type { ChannelBooks } from '../money/channel-books/books.js';
import { statusOf, type Channel, type Freshness } from '../money/channels/channel.js';
import type { CheckedRefund } from '../money/channels/check.js';
import type { RefundAnswer, RefundRefusal, Refunds } from '../money/claims/refunds.js';
import { channelReasons } from '../money/x402/channel-reasons.js';
import type { Receipt } from '../money/x402/receipt.js';
import { corrected, refuseVoucher, stateOf, UNKNOWN_CHANNEL } from './channel-replies.js';
import { refused, type SearchReply } from './reply.js';

/** What came of asking for money back. */
export type RefundReply =
  | { readonly kind: 'refunded'; readonly amount: UsdcUnits; readonly receipt: Receipt }
  | Extract<SearchReply, { kind: 'refused' }>;

export interface RefundParts {
  readonly books: Pick<ChannelBooks, 'find'>;
  readonly refunds: Pick<Refunds, 'refund'>;
  /** How fresh the knowledge of the chain is. */
  freshness(): Freshness;
  /** Reads what the contract says about a channel into the books. @throws as the chain does. */
  refresh(channel: Channel): Promise<void>;
  /** Milliseconds for which a payer waits for the refund's block. */
  readonly waitMs: number;
}

/**
 * Gives a payer back what is left in its channel. Whoever asks shows a voucher for exactly what is
 * charged: only payer and service know it, and the money goes to nobody but the payer.
 */
export function createRefund(parts: RefundParts) {
  const { books, refunds } = parts;
  return async (asked: CheckedRefund, requestId: string): Promise<RefundReply> => {
    const no = (refusal: Refusal, known?: Channel): RefundReply => {
      const reply = known ? corrected(requestId, refusal, known) : refused(requestId, refusal);
      if (reply.kind !== 'refused') throw new Error('a refusal that is none');
      return reply;
    };
    const channel = await books.find(asked.channelId);
    if (!channel) return no(UNKNOWN_CHANNEL);
    const status = statusOf(channel, parts.freshness());
    if (status === 'withdrawing' || status === 'frozen' || status === 'stale')
      return no(refuseVoucher(status), channel);
    if (asked.cumulative !== channel.charged) return no(refuseVoucher('amount-mismatch'), channel);
    const answer = await refunds.refund(channel, asked.amount, { waitMs: parts.waitMs });
    if (answer.kind !== 'refunded') return no(refusalOf(answer));
    await parts.refresh(channel).catch(() => undefined);
    const amount = usdcUnits(answer.amount);
    const { chainId, config } = channel;
    const moved = { transaction: answer.transaction, amount };
    const now = (await books.find(channel.id)) ?? channel;
    const receipt = { chainId, payer: config.payer, channel: stateOf(now), moved };
    return { kind: 'refunded', amount, receipt };
  };
}

function refusalOf(answer: Exclude<RefundAnswer, { kind: 'refunded' }>): Refusal {
  return answer.kind === 'pending' ? PENDING : WHY[answer.because];
}

const PENDING = refuse(
  'settlement_pending',
  'The refund is on its way and in no block yet. The channel takes no vouchers until it is final.',
  { retryAfterSeconds: 2 },
);

const invalid = (detail: string, reason: string): Refusal =>
  refuse('payment_invalid', detail, { reason });

const WHY: Readonly<Record<RefundRefusal, Refusal>> = {
  'no-balance': invalid('Nothing is left in the channel.', channelReasons.refundNoBalance),
  busy: invalid(
    'Searches of this channel run, or another refund does. Ask again later.',
    channelReasons.busy,
  ),
  'not-earned': invalid(
    'The channel has not earned the gas of a refund. Its payer can withdraw alone: start with ' +
      'initiateWithdraw, and finish after the channel’s delay.',
    channelReasons.refundAmount,
  ),
  unavailable: refuse(
    'payments_unavailable',
    'The refund cannot be sent now. Nothing has changed; ask again later.',
    { retryAfterSeconds: 5 },
  ),
};
