import type { ChainAllowance } from '../ground/domain/allowance.js';
import { isRefusal, refuse, type Refusal } from '../ground/domain/refusal.js';
import type { UsdcUnits } from '../ground/domain/units.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import { encodePaymentRequired } from '../money/x402/challenge.js';
import { decodePaymentSignature, type PresentedPayment } from '../money/x402/payment.js';
import { encodePaymentResponse } from '../money/x402/receipt.js';
import type { Offer, PaymentTerms, Resource } from '../money/x402/terms.js';
import type { createPaidSearch } from '../search/paid.js';
import type { SearchReply } from '../search/reply.js';
import { createWire } from './x402-wire.js';

/** A payment, and what was asked for it. */
export interface SalePresented {
  readonly payment: PresentedPayment;
  readonly offered: Offer;
}

/** The payment path, for something other than a search. */
type Buy<Order> = ReturnType<typeof createPaidSearch<SalePresented, Order>>;

/** What became of a sale. Header values are those of x402's HTTP transport, version 2. */
export type SaleOutcome =
  /** Settled. `requestId` is that of the first presentation, whoever presents it again. */
  | {
      readonly kind: 'paid';
      readonly requestId: string;
      readonly body: Uint8Array;
      readonly transaction: string;
      readonly receiptHeader: string;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      /** `PAYMENT-REQUIRED`, where a new payment may be made. */
      readonly challengeHeader?: string;
      readonly receiptHeader?: string;
    };

interface SaleParts<Order> {
  /** What a search is sold at; a sale differs in its amount. */
  readonly terms: PaymentTerms;
  readonly resource: Resource;
  /** Why a request without any payment is refused. */
  readonly unpaid: string;
  readonly buy: Buy<Order>;
}

/** One request for something that is sold, and the payment that came along, if one did. */
interface SaleCall<Order> {
  readonly order: Order;
  readonly amount: UsdcUnits;
  readonly binding: RequestBinding;
  /** More for the challenge's `extra`. */
  readonly extra?: Readonly<Record<string, unknown>>;
  /** The value of `PAYMENT-SIGNATURE`. */
  readonly payment: string | undefined;
  readonly requestId: string;
  readonly allowance: ChainAllowance;
  readonly signal: AbortSignal;
  /** What the purchase is made of, once the payment was read. */
  purchase(
    payment: PresentedPayment,
  ): Pick<Parameters<Buy<Order>>[1], 'run' | 'deliver' | 'secret'> | Refusal;
}

/**
 * Sells something beside searches. Sales take the same path as paid searches: quoted, verified,
 * reserved, settled, once for each authorization, bound to what was ordered.
 */
export function createSale<Order>({ terms, resource, unpaid, buy }: SaleParts<Order>) {
  const notPaid = refuse('payment_required', unpaid, { reason: 'Payment required' });
  return async (call: SaleCall<Order>): Promise<SaleOutcome> => {
    const { order, amount, binding, extra, payment, requestId, allowance, signal } = call;
    const offered = { terms: { ...terms, amount }, resource, ...(extra && { extra }) };
    if (payment === undefined) {
      const challengeHeader = encodePaymentRequired(offered);
      return { kind: 'refused', refusal: notPaid, challengeHeader };
    }
    const decoded = decodePaymentSignature(payment);
    if (isRefusal(decoded)) return { kind: 'refused', refusal: decoded };
    const purchase = call.purchase(decoded);
    if (isRefusal(purchase)) {
      const challengeHeader = encodePaymentRequired({
        ...offered,
        error: purchase.reason ?? purchase.code,
      });
      return { kind: 'refused', refusal: purchase, challengeHeader };
    }
    const asked = { request: order, binding, requestId, allowance, ...purchase };
    return outcomeOf(await buy({ payment: decoded, offered }, asked, signal), offered);
  };
}

function outcomeOf(reply: SearchReply, offered: Offer): SaleOutcome {
  const { receipt } = reply;
  const receiptHeader = receipt && encodePaymentResponse(receipt);
  if (reply.kind === 'results') {
    const transaction = receipt && 'transaction' in receipt ? receipt.transaction : undefined;
    if (transaction === undefined || receiptHeader === undefined) {
      throw new Error('a paid reply without its receipt');
    }
    const { requestId, body } = reply;
    return { kind: 'paid', requestId, body, transaction, receiptHeader };
  }
  const offer = reply.offer;
  return {
    kind: 'refused',
    refusal: reply.refusal,
    ...(receiptHeader !== undefined && { receiptHeader }),
    ...(offer && { challengeHeader: createWire(() => offered, false).challengeHeader(offer) }),
  };
}
