import { createHash } from 'node:crypto';
import type { PaymentRequirements } from '@x402/core/types';
import type { PaidReceipt } from './receipt.js';
import { network } from './terms.js';

/** Signed offers and receipts (x402 extension `offer-receipt`, format `jws`). */
export const OFFER_RECEIPT = 'offer-receipt';

const VERSION = 1;
const FORMAT = 'jws';

/**
 * What signs offers. A new object stands for a new `validUntil`: as long as it is the same object,
 * the same terms have the same offers.
 */
export interface OfferSigner {
  readonly sign: (payload: object) => string;
  /** Unix seconds until which the terms are honoured. */
  readonly validUntil: number;
}

/** The extension of a challenge: one signed offer for each way to pay. */
export function signedOffers(
  { sign, validUntil }: OfferSigner,
  resourceUrl: string,
  accepts: readonly PaymentRequirements[],
): object {
  const offers = accepts.map(({ scheme, network: chain, asset, payTo, amount }, acceptIndex) => {
    const terms = { scheme, network: chain, asset, payTo, amount };
    const signature = sign({ version: VERSION, resourceUrl, ...terms, validUntil });
    return { format: FORMAT, acceptIndex, signature };
  });
  return { info: { offers }, schema: OFFERS_SCHEMA };
}

const OFFERS_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    offers: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          format: { const: FORMAT },
          acceptIndex: { type: 'integer' },
          signature: { type: 'string' },
        },
        required: ['format', 'signature'],
      },
    },
  },
  required: ['offers'],
};

/** What a payment has bought. */
export interface SoldFacts {
  readonly resourceUrl: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** SHA-256 over method, path and the request with its defaults. */
  readonly binding: string;
  /** The bytes of the reply. */
  readonly body: Uint8Array;
  /** The generation of the index that was searched, where it is known. */
  readonly generation?: number;
}

/**
 * The extension of a receipt. Beside what the extension asks for it binds the payment to what was
 * asked (`requestHash`), to what was answered (`resultHash`, SHA-256 over the reply's bytes) and to
 * the state of the index.
 */
export function signedReceipt(
  sign: OfferSigner['sign'],
  receipt: PaidReceipt,
  sold: SoldFacts,
): object {
  const { resourceUrl, issuedAt, binding, body, generation } = sold;
  const payload = {
    version: VERSION,
    network: network(receipt.chainId),
    resourceUrl,
    payer: receipt.payer,
    issuedAt,
    ...paidBy(receipt),
    requestHash: binding,
    resultHash: `0x${createHash('sha256').update(body).digest('hex')}`,
    ...(generation !== undefined && { indexGeneration: generation }),
  };
  return { info: { receipt: { format: FORMAT, signature: sign(payload) } } };
}

/** A voucher has no transaction of its own: its channel is named instead. */
function paidBy(receipt: PaidReceipt) {
  if ('transaction' in receipt) {
    return { transaction: receipt.transaction, amount: receipt.amount.toString() };
  }
  const { channel, chargedAmount, moved } = receipt;
  return {
    transaction: moved?.transaction ?? '',
    ...(chargedAmount !== undefined && { amount: chargedAmount.toString() }),
    channelId: channel.channelId,
  };
}
