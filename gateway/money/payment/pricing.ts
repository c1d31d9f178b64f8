import type { Clock } from '../../ground/domain/ports.js';
import {
  parseUint256,
  toSeconds,
  unixSeconds,
  usdcUnits,
  type UnixSeconds,
  type UsdcUnits,
} from '../../ground/domain/units.js';
import type { PresentedPayment } from '../x402/payment.js';
import type { Offer, PaymentTerms, Resource } from '../x402/terms.js';
import type { Quotes } from './quotes.js';

/** A price that may change, and the promise to honour it for a while. */
export interface Pricing {
  readonly offer: () => Offer;
  /** Whether a payment at another price than today's was quoted here and may still be made. */
  readonly honours: (payment: PresentedPayment) => boolean;
}

interface PricingOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** The terms apart from the amount. */
  readonly terms: Omit<PaymentTerms, 'amount'>;
  readonly resource: Resource;
  readonly amount: () => UsdcUnits;
  /** What a search costs without its gas. */
  readonly price: UsdcUnits;
  readonly quotes: Quotes;
}

/** A new quote is signed at most this often, in seconds, so that challenges can be kept. */
const QUOTE_STEP_SECONDS = 30;
/** Earlier prices that are remembered for payers who cannot send a quote back (version 1). */
const EARLIER_MAX = 64;

/**
 * Quotes the price of the moment for `maxTimeoutSeconds`, the time that payers are given to pay.
 * The quote is signed, so every gateway of the installation honours it, and none remembers it.
 * Version 1 has no place for a quote: there each gateway honours the prices it asked itself.
 */
export function createPricing(options: PricingOptions): Pricing {
  const { clock, terms, resource, amount, price, quotes } = options;
  const earlier = new Map<UsdcUnits, UnixSeconds>();
  let current: { offer: Offer; expires: UnixSeconds } | undefined;

  /** The end of the step that the payer's time ends in. */
  const expiry = (now: UnixSeconds) => {
    const steps = Math.floor((now + terms.maxTimeoutSeconds) / QUOTE_STEP_SECONDS) + 1;
    return unixSeconds(steps * QUOTE_STEP_SECONDS);
  };

  return {
    offer: () => {
      const asked = amount();
      const expires = expiry(toSeconds(clock.now()));
      if (current?.offer.terms.amount === asked && current.expires === expires)
        return current.offer;
      const own =
        current?.offer.terms.amount === asked ? current.offer.terms : { ...terms, amount: asked };
      const gas = (asked - price).toString();
      const offer = { terms: own, resource, extra: { quote: quotes.sign(own, expires), gas } };
      current = { offer, expires };
      remember(earlier, asked, expires);
      return offer;
    },

    honours: ({ version, accepted, transfer }) => {
      const now = toSeconds(clock.now());
      if (version === 1) return transfer !== undefined && (earlier.get(transfer.value) ?? 0) > now;
      if (!accepted) return false;
      const { amount: quotedAmount, maxTimeoutSeconds, extra } = accepted;
      const quoted = parseUint256(quotedAmount);
      const quote = extra?.quote;
      if (quoted === undefined || typeof quote !== 'string') return false;
      const until = quotes.verify(
        { ...terms, amount: usdcUnits(quoted), maxTimeoutSeconds },
        quote,
      );
      return until !== undefined && until > now;
    },
  };
}

function remember(
  earlier: Map<UsdcUnits, UnixSeconds>,
  amount: UsdcUnits,
  expires: UnixSeconds,
): void {
  earlier.delete(amount);
  earlier.set(amount, expires);
  const [oldest] = earlier.keys();
  if (earlier.size > EARLIER_MAX && oldest !== undefined) earlier.delete(oldest);
}
