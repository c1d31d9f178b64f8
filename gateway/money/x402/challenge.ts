import type { PaymentRequired, PaymentRequiredV1 } from '@x402/core/types';
import { encodeJson } from './base64.js';
import { BAZAAR, bazaarDeclaration } from './discovery.js';
import { OFFER_RECEIPT, signedOffers, type OfferSigner } from './offer-receipt.js';
import { PAYMENT_IDENTIFIER, paymentIdentifierDeclaration } from './payment-identifier.js';
import type { ChannelCorrection } from './channel-state.js';
import { channelRequirements, requirements, requirementsV1, type Offer } from './terms.js';

/** What is asked, and why a payment that was sent is not acceptable. */
interface ChallengeParts extends Offer {
  /** The x402 reason. */
  readonly error?: string;
  /** What a payer needs to know of its channel to go on. */
  readonly correction?: ChannelCorrection;
  /** Signs each way to pay; absent where offers are not signed. */
  readonly signer?: OfferSigner;
}

/** The challenge as an object: for the header, and for transports that carry JSON (MCP). */
export function paymentRequired({
  terms,
  resource,
  error,
  extra,
  channels,
  correction,
  signer,
}: ChallengeParts): PaymentRequired {
  const { discovery, ...described } = resource;
  const exact = requirements(terms, extra);
  // The first that a client knows is what it takes: who knows channels pays the least with them.
  const accepts = channels ? [channelRequirements(terms, channels, correction), exact] : [exact];
  return {
    x402Version: 2,
    ...(error !== undefined && { error }),
    resource: described,
    accepts,
    extensions: {
      [PAYMENT_IDENTIFIER]: paymentIdentifierDeclaration(),
      ...(discovery && { [BAZAAR]: bazaarDeclaration(discovery) }),
      ...(signer && { [OFFER_RECEIPT]: signedOffers(signer, resource.url, accepts) }),
    },
  };
}

/** The challenge of version 1, which is the JSON body of its 402. */
export function paymentRequiredV1({ terms, resource, error }: ChallengeParts): PaymentRequiredV1 {
  return {
    x402Version: 1,
    error: error ?? 'X-PAYMENT header is required',
    accepts: [requirementsV1(terms, resource)],
  };
}

/** The value of `PAYMENT-REQUIRED`: base64 of the UTF-8 JSON of `paymentRequired`. */
export function encodePaymentRequired(parts: ChallengeParts): string {
  return encodeJson(paymentRequired(parts));
}

/**
 * Remembers the encoded challenge of the same terms, resource, extra, channel terms and signer, by identity:
 * an unpaid request then costs a few lookups. Callers keep these objects for as long as the price stands;
 * entries go when they are collected.
 */
export function createChallengeEncoder(): (parts: ChallengeParts) => string {
  const none = {};
  type BySigner = WeakMap<object, string>;
  type ByChannels = WeakMap<object, BySigner>;
  type ByExtra = WeakMap<object, ByChannels>;
  type ByResource = WeakMap<object, ByExtra>;
  const byTerms = new WeakMap<object, ByResource>();
  return (parts) => {
    if (parts.error !== undefined) return encodePaymentRequired(parts);
    const byResource = entry(byTerms, parts.terms, (): ByResource => new WeakMap());
    const byExtra = entry(byResource, parts.resource, (): ByExtra => new WeakMap());
    const byChannels = entry(byExtra, parts.extra ?? none, (): ByChannels => new WeakMap());
    const bySigner = entry(byChannels, parts.channels ?? none, (): BySigner => new WeakMap());
    return entry(bySigner, parts.signer ?? none, () => encodePaymentRequired(parts));
  };
}

function entry<Value>(map: WeakMap<object, Value>, key: object, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
