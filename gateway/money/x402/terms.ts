import type { PaymentRequirements, PaymentRequirementsV1 } from '@x402/core/types';
import type { Address, UsdcUnits } from '../../ground/domain/units.js';
import { outputSchemaV1, type Discovery } from './discovery.js';

/** What the operator asks for one search: the server's own side of every comparison. */
export interface PaymentTerms {
  readonly chainId: number;
  readonly asset: Address;
  /** The EIP-712 domain of the asset, `extra.name` and `extra.version` on the wire. */
  readonly domain: { readonly name: string; readonly version: string };
  readonly payTo: Address;
  readonly amount: UsdcUnits;
  /** How long a payer's authorization should be valid, in seconds; clients sign `now + this`. */
  readonly maxTimeoutSeconds: number;
}

/** What is sold. The URL is part of the challenge, and payers send it back. */
export interface Resource {
  readonly url: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** How it is called, for indexes; absent where it is of no use to strangers. */
  readonly discovery?: Discovery;
}

/** What is asked now. The objects stay the same for as long as they stand. */
export interface Offer {
  readonly terms: PaymentTerms;
  readonly resource: Resource;
  /** More for the challenge's `extra`, for example a signed quote; payers send it back. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The CAIP-2 name of an EVM chain, as version 2 writes it. */
export function network(chainId: number): `eip155:${number}` {
  return `eip155:${chainId}`;
}

/** Version 1 names networks by word; only Base can be sold there (see x402 `NETWORKS`). */
export const NETWORK_V1 = 'base';
/** The chain that `NETWORK_V1` names. */
export const CHAIN_ID_V1 = 8453;

/**
 * One entry of `accepts`, version 2 (x402 specification, section 5.1).
 * `extra` may carry more than the token's domain; it can never replace it.
 */
export function requirements(
  terms: PaymentTerms,
  extra: Readonly<Record<string, unknown>> = {},
): PaymentRequirements {
  return {
    scheme: 'exact',
    network: network(terms.chainId),
    amount: terms.amount.toString(),
    asset: terms.asset,
    payTo: terms.payTo,
    maxTimeoutSeconds: terms.maxTimeoutSeconds,
    extra: { ...extra, name: terms.domain.name, version: terms.domain.version },
  };
}

/** One entry of `accepts`, version 1. */
export function requirementsV1(terms: PaymentTerms, resource: Resource): PaymentRequirementsV1 {
  return {
    scheme: 'exact',
    // The package types every network as CAIP-2; version 1 has plain words.
    network: NETWORK_V1 as PaymentRequirementsV1['network'],
    maxAmountRequired: terms.amount.toString(),
    resource: resource.url,
    description: resource.description ?? '',
    mimeType: resource.mimeType ?? 'application/json',
    outputSchema: resource.discovery ? outputSchemaV1(resource.discovery) : {},
    payTo: terms.payTo,
    maxTimeoutSeconds: terms.maxTimeoutSeconds,
    asset: terms.asset,
    extra: { name: terms.domain.name, version: terms.domain.version },
  };
}
