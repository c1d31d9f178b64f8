import { paymentRequired } from '../../money/x402/challenge.js';
import { settleResponse } from '../../money/x402/receipt.js';
import type { Offer } from '../../money/x402/terms.js';
import type { Proofs } from '../../search/proofs.js';
import type { McpPaymentWire } from './result.js';

/**
 * The challenge and the receipt of a tool call. They name the same terms and the same resource as
 * those of POST /search, so that one authorization is one payment, whichever way it comes in.
 */
export function createMcpWire(offer: () => Offer, proofs?: Proofs): McpPaymentWire {
  return {
    paymentRequired: (parts) => {
      const signer = proofs?.signer();
      return { ...paymentRequired({ ...offer(), ...parts, ...(signer && { signer }) }) };
    },
    paymentResponse: (receipt, delivered) => ({
      ...settleResponse(receipt, proofs?.receipt(receipt, delivered)),
    }),
  };
}
