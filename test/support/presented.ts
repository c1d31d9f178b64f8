import { x402Client } from '@x402/core/client';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';
import { address, usdcUnits, type Hex } from '../../gateway/ground/domain/units.js';
import type { PaymentTerms, Resource } from '../../gateway/money/x402/terms.js';

/** A fixed, worthless key: its payments can be compared from run to run. */
const PAYER_KEY: Hex = `0x${'42'.repeat(32)}`;
export const payer = privateKeyToAccount(PAYER_KEY);

export const resource: Resource = {
  url: 'http://localhost:4020/search',
  description: 'One web search',
  mimeType: 'application/json',
};

/** What the tests' server asks: 50 atomic USDC on Base. */
export function terms(over: Partial<PaymentTerms> = {}): PaymentTerms {
  return {
    chainId: 8453,
    asset: address('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
    domain: { name: 'USD Coin', version: '2' },
    payTo: address('0x00000000000000000000000000000000000000aa'),
    amount: usdcUnits(50n),
    maxTimeoutSeconds: 300,
    ...over,
  };
}

export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const;

/** The parts of a payment that a test may want different. */
export interface PaymentParts {
  readonly key?: Hex;
  readonly from?: string;
  readonly to?: string;
  readonly value?: string;
  readonly validAfter?: string;
  readonly validBefore?: string;
  readonly nonce?: Hex;
  readonly signature?: Hex;
  readonly domain?: Partial<{
    name: string;
    version: string;
    chainId: number;
    verifyingContract: Hex;
  }>;
  readonly accepted?: object;
  readonly envelope?: object;
}

/** A payment for `own` as an object, signed as told; everything not named is as a good payer has it. */
export async function paymentObject(own: PaymentTerms, parts: PaymentParts = {}) {
  const account = privateKeyToAccount(parts.key ?? PAYER_KEY);
  const authorization = {
    from: parts.from ?? account.address,
    to: parts.to ?? own.payTo,
    value: parts.value ?? own.amount.toString(),
    validAfter: parts.validAfter ?? '0',
    validBefore: parts.validBefore ?? '1800000300',
    nonce: parts.nonce ?? (`0x${'07'.repeat(32)}` as const),
  };
  const signature =
    parts.signature ??
    (await account.signTypedData({
      domain: {
        ...own.domain,
        chainId: own.chainId,
        verifyingContract: own.asset,
        ...parts.domain,
      },
      types: TRANSFER_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: authorization.from as Hex,
        to: authorization.to as Hex,
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
        nonce: authorization.nonce,
      },
    }));
  return {
    x402Version: 2,
    resource: { ...resource },
    accepted: {
      scheme: 'exact',
      network: `eip155:${own.chainId}`,
      amount: own.amount.toString(),
      asset: own.asset,
      payTo: own.payTo,
      maxTimeoutSeconds: own.maxTimeoutSeconds,
      extra: { ...own.domain },
      ...parts.accepted,
    },
    payload: { signature, authorization },
    ...parts.envelope,
  };
}

/** Base64 of UTF-8 text, canonical. */
export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** A payment for `own` as the header value that a good client sends. */
export async function paymentHeader(own: PaymentTerms, parts: PaymentParts = {}): Promise<string> {
  return base64(JSON.stringify(await paymentObject(own, parts)));
}

/** What the official client answers to a challenge. */
export async function officialPayment(challenge: PaymentRequired): Promise<string> {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer));
  return encodePaymentSignatureHeader(await client.createPaymentPayload(challenge));
}

/** A monotonic clock that stands until it is told; nobody sleeps by it. */
export function standingClock() {
  let nowMs = 1_000;
  return {
    monotonicMs: () => nowMs,
    sleep: () => Promise.resolve(),
    advance: (seconds: number) => {
      nowMs += seconds * 1000;
    },
  };
}
