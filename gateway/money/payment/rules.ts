import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import { parseAddress, type UnixSeconds } from '../../ground/domain/units.js';
import type { AcceptedRequirements, PresentedPayment } from '../x402/payment.js';
import { reasons } from '../x402/reasons.js';
import { CHAIN_ID_V1, NETWORK_V1, type PaymentTerms, type Resource } from '../x402/terms.js';
import type { Authorization, SignedAuthorization } from './authorization.js';
import { parseUrl } from '../../../network/parse-url.js';

/** How long an authorization must and may be valid, in seconds. */
export interface WindowLimits {
  /** What a settlement needs from now on, worst case: a shorter authorization is refused. */
  readonly settleMarginSeconds: number;
  /** How far ahead `validBefore` may lie: used authorizations are remembered for that long. */
  readonly validityMaxSeconds: number;
}

/**
 * Compares a payment with what this server itself asks of every payment at any time: scheme,
 * network, token, payee, resource, and a value that is the one accepted. Nothing the payer says
 * about the terms is used further: the result is built from the server's own.
 *
 * Pure; refuses with `payment_invalid` and the reference implementation's reason. Whether the price
 * and the window are right *now* is another question (`matchPrice`, `checkWindow`): a payment that
 * was right once may come again to fetch its reply.
 */
export function matchTerms(
  payment: PresentedPayment,
  terms: PaymentTerms,
  resource: Resource,
): SignedAuthorization | Refusal {
  return (
    matchScheme(payment, terms) ??
    (payment.accepted && matchAccepted(payment.accepted, terms)) ??
    matchResource(payment, resource) ??
    matchTransfer(payment, terms)
  );
}

/** Whether what was accepted is what is asked now: the amount, and the time to pay it. */
export function matchPrice(
  { accepted, transfer }: PresentedPayment,
  { amount, maxTimeoutSeconds }: PaymentTerms,
): Refusal | undefined {
  if (transfer?.value !== amount)
    return unacceptable(`The price is now ${amount} atomic units.`, reasons.value);
  if (accepted && accepted.maxTimeoutSeconds !== maxTimeoutSeconds)
    return unacceptable(`maxTimeoutSeconds is now ${maxTimeoutSeconds}.`, reasons.requirements);
  return undefined;
}

function matchScheme(payment: PresentedPayment, terms: PaymentTerms): Refusal | undefined {
  const { version, scheme, network } = payment;
  if (scheme !== 'exact') return unacceptable('The scheme must be "exact".', reasons.scheme);
  const own =
    version === 2
      ? network === `eip155:${terms.chainId}`
      : network === NETWORK_V1 && terms.chainId === CHAIN_ID_V1;
  if (own) return undefined;
  const asked = version === 2 ? `eip155:${terms.chainId}` : NETWORK_V1;
  return unacceptable(`We accept payments on ${asked} only.`, reasons.network);
}

/** The accepted requirement must be the one asked; its `extra` may say more, never other things. */
function matchAccepted(accepted: AcceptedRequirements, terms: PaymentTerms): Refusal | undefined {
  const { asset, payTo, extra } = accepted;
  if (parseAddress(asset) !== terms.asset)
    return unacceptable(`We accept payments in ${terms.asset} only.`, reasons.requirements);
  if (parseAddress(payTo) !== terms.payTo)
    return unacceptable('The accepted payTo is not this service’s.', reasons.requirements);
  if (extra?.name !== terms.domain.name)
    return unacceptable('The accepted extra.name is not the token’s.', reasons.tokenName);
  if (extra.version !== terms.domain.version)
    return unacceptable('The accepted extra.version is not the token’s.', reasons.tokenVersion);
  return undefined;
}

/**
 * A payer that names the resource must mean this one: an authorization made for another seller's
 * resource with the same payee and price is not for us. Official clients send back what the
 * challenge said; URLs are compared in their normal form (WHATWG URL), without query, fragment and
 * trailing slash.
 */
function matchResource(payment: PresentedPayment, resource: Resource): Refusal | undefined {
  if (payment.resourceUrl === undefined) return undefined;
  if (normalUrl(payment.resourceUrl) === normalUrl(resource.url)) return undefined;
  return unacceptable('The payment is for another resource.', reasons.requirements);
}

function normalUrl(text: string): string {
  const url = parseUrl(text);
  return url ? `${url.protocol}//${url.host}${withoutTrailingSlashes(url.pathname)}` : text;
}

/** In linear time, which an expression such as `/+$` is not: a payer chooses the text. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function matchTransfer(
  { transfer, accepted }: PresentedPayment,
  terms: PaymentTerms,
): SignedAuthorization | Refusal {
  if (!transfer)
    return unacceptable('We accept EIP-3009 authorizations only.', reasons.payloadType);
  if (transfer.to !== terms.payTo)
    return unacceptable('The authorization pays another address.', reasons.recipient);
  if (accepted && accepted.amount !== transfer.value.toString())
    return unacceptable(
      'The authorization must be for exactly the accepted amount.',
      reasons.value,
    );
  const { from, to, value, validAfter, validBefore, nonce, signature } = transfer;
  return {
    chainId: terms.chainId,
    asset: terms.asset,
    from,
    to,
    value,
    validAfter,
    validBefore,
    nonce,
    signature,
  };
}

/**
 * Whether the authorization can be settled at `chainTime` (the time of the latest block, as the
 * token will see it; wall clocks of payers and servers differ by minutes) and for long enough after.
 */
export function checkWindow(
  { validAfter, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  chainTime: UnixSeconds,
  { settleMarginSeconds, validityMaxSeconds }: WindowLimits,
): Refusal | undefined {
  if (validAfter >= chainTime)
    return unacceptable(
      `The authorization is not valid yet: validAfter must lie before the chain’s time ${chainTime}.`,
      reasons.validAfter,
    );
  if (validBefore < chainTime + settleMarginSeconds)
    return unacceptable(
      `The authorization ends too soon: validBefore must be at least ${settleMarginSeconds} ` +
        `seconds after the chain’s time ${chainTime}.`,
      reasons.validBefore,
    );
  if (validBefore > chainTime + validityMaxSeconds)
    return unacceptable(
      `validBefore must lie within ${validityMaxSeconds} seconds of the chain’s time ${chainTime}.`,
      reasons.validBefore,
    );
  return undefined;
}

function unacceptable(detail: string, reason: string): Refusal {
  return refuse('payment_invalid', detail, { reason });
}
