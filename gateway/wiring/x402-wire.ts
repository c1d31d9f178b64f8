import type { PaymentWire } from '../edge/http/search-route.js';
import { createChallengeEncoder, paymentRequiredV1 } from '../money/x402/challenge.js';
import { encodePaymentResponse, encodePaymentResponseV1 } from '../money/x402/receipt.js';
import type { Offer } from '../money/x402/terms.js';
import type { Proofs } from '../search/proofs.js';

/** Who signs the offers of a challenge, where they are signed. */
const signedBy = (proofs: Proofs | undefined) => {
  const signer = proofs?.signer();
  return signer && { signer };
};

/** What a search costs now, and what exactly is sold. The objects stay the same while they stand. */
export type CurrentOffer = () => Offer;

/** The `error` of a challenge that answers a request without any payment. */
const UNPAID = 'Payment required';

/**
 * Writes challenges and receipts as HTTP headers; with `v1`, as version 1's clients read them too,
 * and with `proofs`, signed.
 */
export function createWire(offer: CurrentOffer, v1: boolean, proofs?: Proofs): PaymentWire {
  const challenge = createChallengeEncoder();
  return {
    challengeHeader: ({ error, correction }) =>
      challenge({
        ...offer(),
        ...signedBy(proofs),
        ...(error !== UNPAID && { error }),
        ...(correction && { correction }),
      }),
    ...(v1 && {
      challengeBodyV1: ({ error }) =>
        Buffer.from(JSON.stringify(paymentRequiredV1({ ...offer(), error }))),
    }),
    receiptHeader: (receipt, version, delivered) => {
      const encode = version === 1 ? encodePaymentResponseV1 : encodePaymentResponse;
      return encode(receipt, proofs?.receipt(receipt, delivered));
    },
  };
}
