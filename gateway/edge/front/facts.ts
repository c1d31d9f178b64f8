import type { Offer } from '../../money/x402/terms.js';
import { network } from '../../money/x402/terms.js';
import { formatUsd } from '../../ground/domain/units.js';

/** What search-core holds, as far as it can be told. */
export interface IndexState {
  readonly pages: number;
  /** When it last changed; absent where search-core runs elsewhere. */
  readonly changedAt?: Date;
}

/** Everything that the front page says, in each of its forms. */
export interface FrontFacts {
  /** Where people and programs reach the gateway, without a path. */
  readonly url: string;
  /** Addresses of the tool protocol: with an account, and paying for each call. */
  readonly mcp: { readonly keyed: string; readonly open: string };
  /** What one search costs now, in dollars: `0.00005`. */
  readonly priceUsd: string;
  /** In atomic USDC. */
  readonly priceUnits: string;
  /** CAIP-2. */
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly isReady: boolean;
  readonly index?: IndexState;
}

export function factsOf(
  offer: Offer,
  rest: Pick<FrontFacts, 'url' | 'mcp' | 'isReady'> & { readonly index: IndexState | undefined },
): FrontFacts {
  const { terms } = offer;
  const { index, ...others } = rest;
  return {
    ...others,
    ...(index && { index }),
    priceUsd: formatUsd(terms.amount),
    priceUnits: terms.amount.toString(),
    network: network(terms.chainId),
    asset: terms.asset,
    payTo: terms.payTo,
  };
}
