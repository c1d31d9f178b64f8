import type { PaymentWire } from '../edge/http/search-route.js';
import { createChallengeEncoder, paymentRequiredV1 } from '../money/x402/challenge.js';
import { encodePaymentResponse, encodePaymentResponseV1 } from '../money/x402/receipt.js';
import type { Offer } from '../money/x402/terms.js';

/** What a search costs now, and what exactly is sold. The objects stay the same while they stand. */
export type CurrentOffer = () => Offer;

/** The `error` of a challenge that answers a request without any payment. */
const UNPAID = 'Payment required';

/** Writes challenges and receipts as HTTP headers; with `v1`, as version 1's clients read them too. */
export function createWire(offer: CurrentOffer, v1: boolean): PaymentWire {
  const challenge = createChallengeEncoder();
  return {
    challengeHeader: ({ error, correction }) =>
      challenge({
        ...offer(),
        ...(error !== UNPAID && { error }),
        ...(correction && { correction }),
      }),
    ...(v1 && {
      challengeBodyV1: ({ error }) =>
        Buffer.from(JSON.stringify(paymentRequiredV1({ ...offer(), error }))),
    }),
    receiptHeader: (receipt, version) =>
      version === 1 ? encodePaymentResponseV1(receipt) : encodePaymentResponse(receipt),
  };
}
