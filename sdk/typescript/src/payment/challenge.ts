import { PaymentNotAllowedError, ProtocolError } from '../errors.js';
import { readTerms, type ChannelTerms } from '../channel/terms.js';
import { jsonable } from '../jsonable.js';
import { decodeJson, isObject } from './base64.js';
import { formatUsd } from './money.js';
import { WINDOW_SECONDS_MAX, type Quote } from './record.js';
import type { Hex } from '../hex.js';

/** Base mainnet and its USDC, which the service sells in. */
export const BASE_MAINNET = 'eip155:8453';
export const BASE_USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
/** EIP-712 domains that are known; a challenge that says otherwise is refused. */
const KNOWN_DOMAINS: Readonly<Record<string, { name: string; version: string }>> = {
  [`${BASE_MAINNET}/${BASE_USDC}`]: { name: 'USD Coin', version: '2' },
};

/** What the client may pay in, and to whom. */
export interface AllowLists {
  /** CAIP-2 networks; default Base mainnet only. */
  readonly networks?: readonly string[] | undefined;
  /** Token addresses; default Base's USDC only. */
  readonly assets?: readonly string[] | undefined;
  /** Payees; by default the one at which a service was first paid, unless `approve` is given. */
  readonly payees?: readonly string[] | undefined;
}

/** One way to pay from a challenge, checked. */
export interface Requirement extends Quote {
  readonly chainId: number;
  /** EIP-712 domain of the token. */
  readonly name: string;
  readonly version: string;
  /** The item of `accepts`, to be echoed unchanged. */
  readonly accepted: object;
  /** The challenge's `resource`, to be echoed. */
  readonly resource: unknown;
}

const isAddress = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]{40}$/.test(value);

function readAmount(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^(0|[1-9][0-9]{0,77})$/.test(value)
    ? BigInt(value)
    : undefined;
}

function readRequirement(item: unknown, resource: unknown): Requirement | undefined {
  return isObject(item) && item.scheme === 'exact' ? readCommon(item, resource) : undefined;
}

/** A way to pay by a channel, as a challenge or a stored channel holds it. */
export function readChannelTerms(item: unknown, resource: unknown): ChannelTerms | undefined {
  if (!isObject(item) || item.scheme !== 'batch-settlement') return undefined;
  const common = readCommon(item, resource);
  return common && isObject(item.extra) ? readTerms(common, item.extra) : undefined;
}

/** What both schemes have in common. */
function readCommon(
  item: Readonly<Record<string, unknown>>,
  resource: unknown,
): Requirement | undefined {
  const { network, asset, payTo, maxTimeoutSeconds, extra } = item;
  const amountUnits = readAmount(item.amount);
  const chain = typeof network === 'string' ? /^eip155:([1-9][0-9]{0,14})$/.exec(network) : null;
  if (chain?.[1] === undefined || amountUnits === undefined) return undefined;
  if (!isAddress(asset) || !isAddress(payTo) || !isObject(extra)) return undefined;
  if (typeof maxTimeoutSeconds !== 'number' || !(maxTimeoutSeconds > 0)) return undefined;
  const { name, version, paymentFlow, assetTransferMethod } = extra;
  if (typeof name !== 'string' || typeof version !== 'string') return undefined;
  if ((paymentFlow ?? 'authorization') !== 'authorization') return undefined;
  if ((assetTransferMethod ?? 'eip3009') !== 'eip3009') return undefined;
  return {
    amountUnits,
    amountUsd: formatUsd(amountUnits),
    network: chain[0],
    chainId: Number(chain[1]),
    asset: asset.toLowerCase() as Hex,
    payTo: payTo.toLowerCase() as Hex,
    maxTimeoutSeconds: Math.min(Math.floor(maxTimeoutSeconds), WINDOW_SECONDS_MAX),
    name,
    version,
    accepted: item,
    resource,
  };
}

/** What is shown of a way to pay. */
export function quoteOf(requirement: Requirement): Quote {
  const { amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds } = requirement;
  return jsonable({ amountUnits, amountUsd, network, asset, payTo, maxTimeoutSeconds });
}

/** A challenge: why it was sent, and the ways to pay that this package understands. */
export interface Challenge {
  readonly error: string | undefined;
  readonly requirements: readonly Requirement[];
  /** The ways to pay by a channel. */
  readonly channels: readonly ChannelTerms[];
}

/**
 * Reads a PAYMENT-REQUIRED header (x402 version 2); undefined when there is none.
 * @throws {ProtocolError} when it cannot be read
 */
export function readChallenge(headers: Headers): Challenge | undefined {
  const header = headers.get('payment-required');
  if (header === null) return undefined;
  const value = decodeJson(header);
  if (!isObject(value) || value.x402Version !== 2 || !Array.isArray(value.accepts)) {
    throw new ProtocolError('the PAYMENT-REQUIRED header is not an x402 version 2 challenge');
  }
  const accepts: readonly unknown[] = value.accepts;
  return {
    error: typeof value.error === 'string' ? value.error : undefined,
    requirements: accepts.flatMap((item) => readRequirement(item, value.resource) ?? []),
    channels: accepts.flatMap((item) => readChannelTerms(item, value.resource) ?? []),
  };
}

/**
 * The cheapest way to pay that the lists allow.
 * @throws {PaymentNotAllowedError} when there is none
 */
export function chooseRequirement(challenge: Challenge, lists: AllowLists): Requirement {
  const allowed = challenge.requirements
    .filter((one) => refusalOf(one, lists) === undefined)
    .sort((a, b) => (a.amountUnits < b.amountUnits ? -1 : a.amountUnits > b.amountUnits ? 1 : 0));
  if (allowed[0]) return allowed[0];
  const reasons = challenge.requirements.map((one) => refusalOf(one, lists));
  throw new PaymentNotAllowedError(
    reasons.length === 0
      ? 'the gateway offers no payment method this package supports (exact, EIP-3009, EVM)'
      : `nothing was signed: ${reasons.join('; ')}`,
  );
}

/** Why the lists forbid this way to pay; undefined when they do not. */
export function refusalOf(one: Requirement, lists: AllowLists): string | undefined {
  const has = (list: readonly string[], value: string) =>
    list.some((item) => item.toLowerCase() === value.toLowerCase());
  if (!has(lists.networks ?? [BASE_MAINNET], one.network)) {
    return `network ${one.network} is not on the list of allowed networks`;
  }
  if (!has(lists.assets ?? [BASE_USDC], one.asset)) {
    return `asset ${one.asset} is not on the list of allowed assets`;
  }
  if (lists.payees !== undefined && !has(lists.payees, one.payTo)) {
    return `payee ${one.payTo} is not on the list of allowed payees`;
  }
  const known = KNOWN_DOMAINS[`${one.network}/${one.asset}`];
  if (known !== undefined && (known.name !== one.name || known.version !== one.version)) {
    return `the challenge names the token "${one.name}" ${one.version}, which ${one.asset} is not`;
  }
  return undefined;
}
