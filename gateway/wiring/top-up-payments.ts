import { createHash } from 'node:crypto';
import { settledRequests } from '../customers/credits/revenue.js';
import type { TopUpOrder, TopUpPayment, TopUpPayments } from '../customers/credits/top-up.js';
import { UNBOUNDED } from '../ground/domain/allowance.js';
import { isRefusal, refuse } from '../ground/domain/refusal.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { createPaidSearch } from '../search/paid.js';
import type { SearchReply } from '../search/reply.js';
import type { Store } from '../ground/store/store.js';
import { encodePaymentRequired } from '../money/x402/challenge.js';
import { decodePaymentSignature, type PresentedPayment } from '../money/x402/payment.js';
import { encodePaymentResponse } from '../money/x402/receipt.js';
import type { Offer, PaymentTerms } from '../money/x402/terms.js';
import { createWire, type CurrentOffer } from './x402-wire.js';

/** A payment for an order, and what was asked for it. */
export interface TopUpPresented {
  readonly payment: PresentedPayment;
  readonly offered: Offer;
}

interface TopUpPaymentParts {
  readonly store: Store;
  /** What a search is sold at; a top-up differs in its amount. */
  readonly terms: PaymentTerms;
  readonly publicUrl: string;
  /** The payment path. */
  readonly buy: ReturnType<typeof createPaidSearch<TopUpPresented, TopUpOrder>>;
}

const UNPAID = refuse(
  'payment_required',
  'Sign the authorization that the PAYMENT-REQUIRED header describes and repeat the request with ' +
    'a PAYMENT-SIGNATURE header. The credits are there when the reply is.',
  { reason: 'Payment required' },
);

/**
 * Top-ups take the same path as paid searches: quoted, verified, reserved, settled, once for each
 * authorization. What is sold is the order, for whose account and amount the payment is bound.
 */
export function createTopUpPayments(parts: TopUpPaymentParts): TopUpPayments {
  const { store, terms, buy } = parts;
  const resource = {
    url: new URL('/account/credits', parts.publicUrl).href,
    description: 'Search credits for an account',
    mimeType: 'application/json',
  };
  return {
    async pay({ order, payment, requestId, signal }) {
      const offered = { terms: { ...terms, amount: order.amount }, resource };
      if (payment === undefined) {
        const challengeHeader = encodePaymentRequired(offered);
        return { kind: 'refused', refusal: UNPAID, challengeHeader };
      }
      const decoded = decodePaymentSignature(payment);
      if (isRefusal(decoded)) return { kind: 'refused', refusal: decoded };
      const purchase = {
        request: order,
        binding: bindingOf(order),
        run: answer,
        requestId,
        allowance: UNBOUNDED,
      };
      const reply = await buy({ payment: decoded, offered }, purchase, signal);
      return paymentOf(reply, () => offered);
    },
    settled: (requestIds) => settledRequests(store, requestIds),
  };
}

/** There is nothing to run: what a top-up gives is booked once its payment has settled. */
const answer = ({ credits }: TopUpOrder) =>
  Promise.resolve({
    kind: 'answer' as const,
    body: Buffer.from(JSON.stringify({ credits })),
    resultCount: 0,
  });

function bindingOf({ accountId, amount }: TopUpOrder): RequestBinding {
  const canonical = JSON.stringify([accountId, amount.toString()]);
  const hash = createHash('sha256').update(`POST\n/account/credits\n${canonical}`);
  return `0x${hash.digest('hex')}`;
}

function paymentOf(reply: SearchReply, offer: CurrentOffer): TopUpPayment {
  const { receipt } = reply;
  const receiptHeader = receipt && encodePaymentResponse(receipt);
  if (reply.kind === 'results') {
    const transaction = receipt && 'transaction' in receipt ? receipt.transaction : undefined;
    if (transaction === undefined || receiptHeader === undefined) {
      throw new Error('a paid reply without its receipt');
    }
    return { kind: 'paid', requestId: reply.requestId, transaction, receiptHeader };
  }
  return {
    kind: 'refused',
    refusal: reply.refusal,
    ...(receiptHeader !== undefined && { receiptHeader }),
    ...(reply.offer && { challengeHeader: createWire(offer, false).challengeHeader(reply.offer) }),
  };
}
