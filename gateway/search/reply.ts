import type { Refusal } from '../domain/refusal.js';
import type { RateState } from '../limits/admission.js';
import type { TransactionHash, UsdcUnits, Address } from '../domain/units.js';

/** What became of a payment; the receipt of version 1, 2 and MCP is made from it. */
export type Receipt =
  | {
      readonly success: true;
      readonly transaction: TransactionHash;
      readonly payer: Address;
      readonly amount: UsdcUnits;
    }
  | {
      readonly success: false;
      readonly reason: string;
      readonly payer: Address;
      readonly transaction?: TransactionHash;
    };

/** The outcome of one search, before HTTP or the tool protocol give it their form. */
export type SearchReply =
  | {
      readonly kind: 'results';
      readonly requestId: string;
      /** The exact bytes of the SearchResponse. */
      readonly body: Uint8Array;
      readonly receipt?: Receipt;
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
}
