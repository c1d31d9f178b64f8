import type { TransactionHash } from '../domain/units.js';
import type { StoredReply } from '../ledger/payment.js';

/** What became of a served payment, as far as it is known now. */
export type SettlementOutcome =
  /** The transfer is in a canonical block with the configured confirmations. */
  | {
      readonly kind: 'settled';
      readonly transaction: TransactionHash;
      /** Undefined once the retention time of the reply has passed. */
      readonly reply?: StoredReply;
    }
  /** Nothing was and nothing will be transferred under this authorization by us. */
  | { readonly kind: 'failed'; readonly reason: string; readonly transaction?: TransactionHash }
  /** The search failed before anything was signed; the same authorization may be used again. */
  | { readonly kind: 'released' }
  /** Not known yet: the same payment must be sent again, never a new one. */
  | { readonly kind: 'pending'; readonly transaction?: TransactionHash };
