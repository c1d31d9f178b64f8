import { z } from 'zod';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import {
  bytes32,
  parseUint256,
  unixSeconds,
  usdcUnits,
  type Address,
  type Bytes32,
  type Hex,
  type UnixSeconds,
  type UsdcUnits,
} from '../../ground/domain/units.js';
import { decodeCanonicalBase64 } from './base64.js';
import { BATCH_SETTLEMENT, channelPayloadSchema, type ChannelPayload } from './channel-payload.js';
import { parseJsonObject } from './json.js';
import { extensionsSchema, PAYMENT_IDENTIFIER } from './payment-identifier.js';
import { reasons } from './reasons.js';
import { account, hash, hex, uint256 } from './wire-values.js';

/** A payment header is at most this long; the official client's is about 2 KB. */
export const PAYMENT_HEADER_LENGTH_MAX = 8192;
/**
 * Times stay below 2^47: numbers hold them exactly, and no token reads them as anything but seconds
 * (OpenZeppelin's ERC-3009 takes bit 47 of both bounds as a switch to block numbers).
 */
const SECONDS_END = 2n ** 47n;

/** A transfer that a payer signed, parsed but not yet compared with anything. */
interface ClaimedTransfer {
  readonly from: Address;
  readonly to: Address;
  readonly value: UsdcUnits;
  readonly validAfter: UnixSeconds;
  readonly validBefore: UnixSeconds;
  readonly nonce: Bytes32;
  /** Lower-case hex, at least one byte. */
  readonly signature: Hex;
}

/** The requirement that the payer says it accepted (version 2 only). */
export type AcceptedRequirements = z.infer<typeof acceptedSchema>;

/** A well-formed payment of either version. */
export interface PresentedPayment {
  readonly version: 1 | 2;
  readonly scheme: string;
  /** CAIP-2 in version 2, a word in version 1. */
  readonly network: string;
  readonly accepted?: AcceptedRequirements;
  /** `resource.url` when the payer sent it back. */
  readonly resourceUrl?: string;
  /** Absent when the payload is of another transfer method or another kind of chain. */
  readonly transfer?: ClaimedTransfer;
  /** Of a payment through a channel; absent for a kind of payload that is not known. */
  readonly channel?: ChannelPayload;
  /** The `payment-identifier` extension's id. */
  readonly identifier?: string;
}

const word = z.string().min(1).max(128);

const transferSchema = z.strictObject({
  signature: hex,
  authorization: z.strictObject({
    from: account,
    to: account,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: hash,
  }),
});

/** Every payload: its shape is the transfer method's business. */
const payloadSchema = z.record(z.string(), z.unknown());

const acceptedSchema = z.strictObject({
  scheme: word,
  network: word,
  amount: z.string().refine((text) => parseUint256(text) !== undefined),
  asset: word,
  payTo: word,
  maxTimeoutSeconds: z.number().positive(),
  extra: z.record(z.string(), z.unknown()).nullish(),
});

const versionTwoSchema = z.object({
  x402Version: z.literal(2),
  resource: z.object({ url: z.string().min(1).max(2048) }).nullish(),
  accepted: acceptedSchema,
  payload: payloadSchema,
  extensions: extensionsSchema.nullish(),
});

const versionOneSchema = z.object({
  x402Version: z.literal(1),
  scheme: word,
  network: word,
  payload: payloadSchema,
});

/**
 * Decodes a `PAYMENT-SIGNATURE` header (version 2).
 *
 * Refusals: `malformed_payment` for what no correct client sends, `payment_invalid` for times that
 * the protocol allows and this server does not. Work is bounded by `PAYMENT_HEADER_LENGTH_MAX`.
 */
export function decodePaymentSignature(header: string): PresentedPayment | Refusal {
  const envelope = decodeEnvelope('PAYMENT-SIGNATURE', header, versionTwoSchema);
  if (!('x402Version' in envelope)) return envelope;
  const { accepted, payload, resource, extensions } = envelope;
  const transfer = parseTransfer(accepted.scheme, payload);
  if (transfer !== undefined && 'kind' in transfer) return transfer;
  const channel = parseChannel(accepted.scheme, payload);
  if (channel !== undefined && 'kind' in channel) return channel;
  const identifier = extensions?.[PAYMENT_IDENTIFIER]?.info.id;
  return {
    version: 2,
    scheme: accepted.scheme,
    network: accepted.network,
    accepted,
    ...(resource && { resourceUrl: resource.url }),
    ...(transfer && { transfer }),
    ...(channel && { channel }),
    ...(identifier !== undefined && { identifier }),
  };
}

/** Decodes an `X-PAYMENT` header (version 1); the same refusals. */
export function decodePaymentV1(header: string): PresentedPayment | Refusal {
  const envelope = decodeEnvelope('X-PAYMENT', header, versionOneSchema);
  if (!('x402Version' in envelope)) return envelope;
  const { scheme, network, payload } = envelope;
  const transfer = parseTransfer(scheme, payload);
  if (transfer !== undefined && 'kind' in transfer) return transfer;
  return { version: 1, scheme, network, ...(transfer && { transfer }) };
}

function decodeEnvelope<Envelope extends { x402Version: number }>(
  name: string,
  header: string,
  schema: z.ZodType<Envelope>,
): Envelope | Refusal {
  if (header.length > PAYMENT_HEADER_LENGTH_MAX)
    return malformed(`${name} is longer than ${PAYMENT_HEADER_LENGTH_MAX} characters.`);
  const text = decodeCanonicalBase64(header);
  if (text === undefined)
    return malformed(`${name} must be sent once, as canonical base64 of UTF-8 JSON.`);
  const value = parseJsonObject(text);
  if (value === undefined)
    return malformed(`${name} must hold one JSON object in which no member is named twice.`);
  const result = schema.safeParse(value);
  return result.success ? result.data : malformed(describe(name, result.error));
}

/** The EIP-3009 transfer of a payload, or undefined when it holds something else. */
function parseTransfer(
  scheme: string,
  payload: Record<string, unknown>,
): ClaimedTransfer | Refusal | undefined {
  if (scheme !== 'exact' || !Object.hasOwn(payload, 'authorization')) return undefined;
  const result = transferSchema.safeParse(payload);
  if (!result.success) return malformed(describe('payload', result.error));
  const { signature, authorization } = result.data;
  const { validAfter, validBefore } = authorization;
  if (validAfter >= SECONDS_END)
    return refuse('payment_invalid', 'validAfter lies beyond any time this server can check.', {
      reason: reasons.validAfter,
    });
  if (validBefore >= SECONDS_END)
    return refuse('payment_invalid', 'validBefore lies further ahead than this server accepts.', {
      reason: reasons.validBefore,
    });
  return {
    from: authorization.from,
    to: authorization.to,
    value: usdcUnits(authorization.value),
    validAfter: unixSeconds(Number(validAfter)),
    validBefore: unixSeconds(Number(validBefore)),
    nonce: bytes32(authorization.nonce),
    signature,
  };
}

const CHANNEL_PAYLOADS = new Set<unknown>(['voucher', 'deposit', 'refund']);

/** The payload of a payment through a channel, or undefined when it is of another kind. */
function parseChannel(
  scheme: string,
  payload: Record<string, unknown>,
): ChannelPayload | Refusal | undefined {
  if (scheme !== BATCH_SETTLEMENT || !CHANNEL_PAYLOADS.has(payload.type)) return undefined;
  const result = channelPayloadSchema.safeParse(payload);
  return result.success ? result.data : malformed(describe('payload', result.error));
}

/** Names the first member that is wrong; never repeats what was sent. */
function describe(name: string, error: z.ZodError): string {
  const path = error.issues[0]?.path.join('.') ?? '';
  return path === ''
    ? `${name} has missing or unknown members.`
    : `${name}: ${path} is missing or not of the form that x402 asks for.`;
}

function malformed(detail: string): Refusal {
  return refuse('malformed_payment', detail);
}
