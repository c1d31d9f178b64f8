import type { Clock } from '../ground/domain/ports.js';
import { toSeconds } from '../ground/domain/units.js';
import { OFFER_RECEIPT, signedReceipt, type OfferSigner } from '../money/x402/offer-receipt.js';
import type { ReceiptKey } from '../money/x402/receipt-key.js';
import type { Receipt, ReceiptExtensions } from '../money/x402/receipt.js';
import type { Sold } from './reply.js';

/** What a search was sold for, and the bytes that were sent. */
export interface Delivered {
  readonly sold: Sold;
  readonly body: Uint8Array;
}

/** Signs what is offered and what was sold. */
export interface Proofs {
  /** The DID document that names the key. */
  readonly document: ReceiptKey['document'];
  /**
   * The same object for a while, so that a signed challenge can be kept for as long; undefined
   * where offers are not signed.
   */
  signer(): OfferSigner | undefined;
  /** The signed part of a receipt; undefined where nothing was sold. */
  receipt(receipt: Receipt, delivered: Delivered | undefined): ReceiptExtensions | undefined;
}

/** Seconds for which a signed challenge is kept: a signature for each request would cost more. */
const SIGNER_SECONDS = 60;

export function createProofs(parts: {
  readonly key: ReceiptKey;
  /** What receipts say was bought. */
  readonly resourceUrl: string;
  /** Seconds for which an offer is honoured; absent where offers are not signed. */
  readonly offerSeconds?: number;
  readonly clock: Pick<Clock, 'now'>;
}): Proofs {
  const { resourceUrl, clock, offerSeconds } = parts;
  const sign = (payload: object) => parts.key.sign(payload);
  const nowSeconds = () => Math.floor(clock.now() / 1000);
  let kept: { readonly madeAt: number; readonly signer: OfferSigner } | undefined;
  return {
    document: parts.key.document,
    signer: () => {
      if (offerSeconds === undefined) return undefined;
      const now = nowSeconds();
      if (!kept || Math.abs(now - kept.madeAt) >= SIGNER_SECONDS) {
        kept = { madeAt: now, signer: { sign, validUntil: now + offerSeconds } };
      }
      return kept.signer;
    },
    receipt: (receipt, delivered) => {
      if (!delivered || 'errorReason' in receipt || 'unsettled' in receipt) return undefined;
      const { body, sold } = delivered;
      const facts = { resourceUrl, issuedAt: toSeconds(sold.at), body, ...sold };
      return { [OFFER_RECEIPT]: signedReceipt(sign, receipt, facts) };
    },
  };
}
