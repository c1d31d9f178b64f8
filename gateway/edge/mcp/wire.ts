import { paymentRequired } from '../../money/x402/challenge.js';
import { settleResponse } from '../../money/x402/receipt.js';
import type { Offer } from '../../money/x402/terms.js';
import type { McpPaymentWire } from './result.js';

/**
 * The challenge and the receipt of a tool call. They name the same terms and the same resource as
 * those of POST /search, so that one authorization is one payment, whichever way it comes in.
 */
export function createMcpWire(offer: () => Offer): McpPaymentWire {
  return {
    paymentRequired: (parts) => ({ ...paymentRequired({ ...offer(), ...parts }) }),
    paymentResponse: (receipt) => ({ ...settleResponse(receipt) }),
  };
}
