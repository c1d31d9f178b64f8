import type { Refusal } from '../ground/domain/refusal.js';
import type { UnixMillis } from '../ground/domain/units.js';
import type { RateState } from '../customers/limits/admission.js';
import type { ChannelCorrection } from '../money/x402/channel-state.js';
import type { RequestBinding } from '../money/ledger/payment.js';
import type { Receipt } from '../money/x402/receipt.js';

/** What was bought, as the signed receipt names it. */
export interface Sold {
  /** The request that was answered. */
  readonly binding: RequestBinding;
  /** From the books, so that the same payment has the same receipt wherever it is shown. */
  readonly at: UnixMillis;
  /** The generation of the index that was searched, where it is known. */
  readonly generation?: number;
}

export function soldOf(
  { binding, at }: Pick<Sold, 'binding' | 'at'>,
  { generation }: Pick<Sold, 'generation'>,
): Sold {
  return { binding, at, ...foundIn({ generation }) };
}

/** The generation of the index that a reply was found in, to be spread where it is known. */
export function foundIn({ generation }: { readonly generation?: number | undefined }): {
  readonly generation?: number;
} {
  return generation === undefined ? {} : { generation };
}

/** The outcome of one search, before HTTP or the tool protocol give it their form. */
export type SearchReply =
  | {
      readonly kind: 'results';
      readonly requestId: string;
      /** The exact bytes of the SearchResponse. */
      readonly body: Uint8Array;
      /** Known to whoever ran the search; a reply that was kept does not say it. */
      readonly resultCount?: number;
      /** The generation of the index that was searched, where it is known. */
      readonly generation?: number;
      /** An earlier search's reply under the same `Idempotency-Key`; it costs no credit. */
      readonly isReplay?: true;
      /** Nothing was found, and the operator gives such searches away: nothing was charged. */
      readonly isFree?: true;
      readonly receipt?: Receipt;
      /** Present where a payment paid for it. */
      readonly sold?: Sold;
      readonly rate?: RateState;
    }
  | {
      readonly kind: 'refused';
      readonly requestId: string;
      readonly refusal: Refusal;
      /** Present where a new payment may be made: the reply then carries a fresh challenge. */
      readonly offer?: Offer;
      readonly receipt?: Receipt;
      readonly rate?: RateState;
    };

/** The `error` member of the challenge that goes with a refusal. */
export interface Offer {
  readonly error: string;
  /** What a payer needs to know of its channel to go on. */
  readonly correction?: ChannelCorrection;
}

/**
 * Whether the work behind a reply is paid for. An account's searches have their own rate, whatever
 * comes of them.
 */
export function isPaidFor(reply: SearchReply): boolean {
  return (reply.kind === 'results' && !reply.isFree) || reply.rate?.policy === 'search';
}

/** A refusal; where a new payment may be made, with an offer to make it. */
export function refused(requestId: string, refusal: Refusal, receipt?: Receipt): SearchReply {
  const offer =
    refusal.next === 'new-payment' ? { error: refusal.reason ?? refusal.code } : undefined;
  return {
    kind: 'refused',
    requestId,
    refusal,
    ...(offer && { offer }),
    ...(receipt && { receipt }),
  };
}
