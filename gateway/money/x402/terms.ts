import type { PaymentRequirements, PaymentRequirementsV1 } from '@x402/core/types';
import type { Address, UsdcUnits } from '../../ground/domain/units.js';
import { outputSchemaV1, type Discovery } from './discovery.js';
import { BATCH_SETTLEMENT } from './channel-payload.js';
import { correctionWire, type ChannelCorrection } from './channel-state.js';

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

/** What the operator asks of a channel, beside what it asks of every payment. */
export interface ChannelTerms {
  /** What one search costs through a channel, all in all: gas is no part of it. */
  readonly amount: UsdcUnits;
  /** Signs claims and refunds. */
  readonly receiverAuthorizer: Address;
  /** Seconds from the start of a withdrawal until it can be finished. */
  readonly withdrawDelaySeconds: number;
  /** A deposit below this is not worth its gas. */
  readonly minDeposit: UsdcUnits;
  /** How far vouchers may run ahead of what is charged, for requests in flight. */
  readonly window: UsdcUnits;
}

/** What is asked now. The objects stay the same for as long as they stand. */
export interface Offer {
  readonly terms: PaymentTerms;
  readonly resource: Resource;
  /** Present where channels are open: the scheme `batch-settlement` is offered before `exact`. */
  readonly channels?: ChannelTerms;
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

/**
 * The entry of `accepts` for channels (x402 scheme `batch-settlement` on EVM). `window` is this
 * server's own: other clients pass over it and sign one voucher at a time.
 */
export function channelRequirements(
  terms: PaymentTerms,
  channels: ChannelTerms,
  correction?: ChannelCorrection,
): PaymentRequirements {
  return {
    scheme: BATCH_SETTLEMENT,
    network: network(terms.chainId),
    amount: channels.amount.toString(),
    asset: terms.asset,
    payTo: terms.payTo,
    maxTimeoutSeconds: terms.maxTimeoutSeconds,
    extra: {
      name: terms.domain.name,
      version: terms.domain.version,
      receiverAuthorizer: channels.receiverAuthorizer,
      withdrawDelay: channels.withdrawDelaySeconds,
      minDeposit: channels.minDeposit.toString(),
      window: channels.window.toString(),
      // What of the amount pays for gas: none, the least deposit is chosen so that it is worth its own.
      gas: '0',
      ...(correction && correctionWire(correction)),
    },
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
