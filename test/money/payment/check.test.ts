import { describe, expect, test } from '@jest/globals';
import { isRefusal, type Refusal } from '../../../gateway/ground/domain/refusal.js';
import { parseBytes32, type Hex } from '../../../gateway/ground/domain/units.js';
import {
  keyText,
  type CheckedAuthorization,
} from '../../../gateway/money/payment/authorization.js';
import { createVerifier } from '../../../gateway/money/payment/verifier.js';
import { paymentRequired } from '../../../gateway/money/x402/challenge.js';
import { decodePaymentSignature, decodePaymentV1 } from '../../../gateway/money/x402/payment.js';
import {
  base64,
  officialPayment,
  payer,
  paymentHeader,
  paymentObject,
  resource,
  standingClock,
  terms,
  type PaymentParts,
} from '../../support/presented.js';

const own = terms();

/** A verifier whose chain must not be asked. */
const verifier = createVerifier({
  chain: { ethCall: () => Promise.reject(new Error('the chain was asked')) },
  clock: standingClock(),
  offer: () => ({ terms: own, resource }),
  limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 1000 },
  contractWallets: false,
  eip6492Factories: [],
});

async function check(header: string): Promise<CheckedAuthorization | Refusal> {
  const payment = decodePaymentSignature(header);
  return isRefusal(payment) ? payment : verifier.check(payment);
}

/** Why a new payment is refused, before the chain is asked. */
async function reasonFor(parts: PaymentParts): Promise<string | undefined> {
  const result = await check(await paymentHeader(own, parts));
  const refusal = isRefusal(result) ? result : result.objection;
  return refusal ? refusal.reason : 'accepted';
}

describe('without a word with the chain', () => {
  test('a payment of the official client is good', async () => {
    const result = await check(await officialPayment(paymentRequired({ terms: own, resource })));
    expect(result).toMatchObject({
      chainId: 8453,
      asset: own.asset,
      from: payer.address.toLowerCase(),
      to: own.payTo,
      value: 50n,
    });
  });

  test.each<[string, PaymentParts, string]>([
    ['another scheme', { accepted: { scheme: 'upto' } }, 'invalid_exact_evm_scheme'],
    [
      'another chain in the terms',
      { accepted: { network: 'eip155:84532' } },
      'invalid_exact_evm_network_mismatch',
    ],
    [
      'another chain in the signature',
      { domain: { chainId: 84532 } },
      'invalid_exact_evm_signature',
    ],
    [
      'another asset in the terms',
      { accepted: { asset: `0x${'11'.repeat(20)}` } },
      'No matching payment requirements',
    ],
    [
      'another asset in the signature',
      { domain: { verifyingContract: `0x${'11'.repeat(20)}` } },
      'invalid_exact_evm_signature',
    ],
    ['another domain name', { domain: { name: 'USDC' } }, 'invalid_exact_evm_signature'],
    ['another domain version', { domain: { version: '1' } }, 'invalid_exact_evm_signature'],
    [
      'another name in the terms',
      { accepted: { extra: { name: 'USDC', version: '2' } } },
      'invalid_exact_evm_token_name_mismatch',
    ],
    [
      'another version in the terms',
      { accepted: { extra: { name: 'USD Coin', version: '1' } } },
      'invalid_exact_evm_token_version_mismatch',
    ],
    [
      'no extra in the terms',
      { accepted: { extra: null } },
      'invalid_exact_evm_token_name_mismatch',
    ],
    [
      'another payee in the terms',
      { accepted: { payTo: `0x${'22'.repeat(20)}` } },
      'No matching payment requirements',
    ],
    [
      'another payee in the authorization',
      { to: `0x${'22'.repeat(20)}` },
      'invalid_exact_evm_recipient_mismatch',
    ],
    [
      'one unit too little',
      { value: '49' },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'one unit too much',
      { value: '51' },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'another amount accepted than signed',
      { accepted: { amount: '49' } },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'one unit too little, accepted and signed',
      { accepted: { amount: '49' }, value: '49' },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'one unit too much, accepted and signed',
      { accepted: { amount: '51' }, value: '51' },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    [
      'another window in the terms',
      { accepted: { maxTimeoutSeconds: 301 } },
      'No matching payment requirements',
    ],
    [
      'another resource',
      { envelope: { resource: { url: 'http://localhost:4020/other' } } },
      'No matching payment requirements',
    ],
    [
      'another host',
      { envelope: { resource: { url: 'http://elsewhere:4020/search' } } },
      'No matching payment requirements',
    ],
    ['another key', { from: `0x${'33'.repeat(20)}` }, 'invalid_exact_evm_signature'],
    [
      'permit2',
      { envelope: { payload: { signature: '0x00', permit2Authorization: {} } } },
      'unsupported_payload_type',
    ],
  ])('a payment with %s is refused', async (_, parts, reason) => {
    expect(await reasonFor(parts)).toBe(reason);
  });

  test('an objection to the price counts for new payments only, and before the chain is asked', async () => {
    const header = await paymentHeader(own, { accepted: { amount: '49' }, value: '49' });
    const checked = await check(header);
    if (isRefusal(checked)) throw new Error(checked.detail);
    expect(checked).toMatchObject({ value: 49n, signedBy: 'key' });
    expect(await verifier.confirm(checked)).toBe(checked.objection);
  });

  test('a payment with more in extra, no resource, or the same URL spelled otherwise is good', async () => {
    for (const parts of [
      { accepted: { extra: { ...own.domain, note: 'x' } } },
      { envelope: { resource: null } },
      { envelope: { resource: { url: 'HTTP://LOCALHOST:4020/search/' } } },
      { envelope: { resource: { url: resource.url, description: 'other words' } } },
    ])
      expect(await reasonFor(parts)).toBe('accepted');
  });

  test('the twin of a signature (high s) and recovery ids 0 and 1 are refused', async () => {
    const { payload } = await paymentObject(own);
    const { signature } = payload;
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const v = Number.parseInt(signature.slice(130), 16);
    const twin: Hex = `${signature.slice(0, 66) as Hex}${s}${(v === 27 ? 28 : 27).toString(16)}`;
    const short: Hex = `${signature.slice(0, 130) as Hex}0${v - 27}`;
    for (const variant of [twin, short])
      expect(await reasonFor({ signature: variant })).toBe('invalid_exact_evm_signature');
  });

  test('r and s that are no point on the curve are refused', async () => {
    for (const part of ['00', 'ff'])
      expect(await reasonFor({ signature: `0x${part.repeat(32)}${'00'.repeat(32)}1b` })).toBe(
        'invalid_exact_evm_signature',
      );
  });

  test('every spelling of one authorization has one key', async () => {
    const payment = await paymentObject(own);
    const upper = structuredClone(payment);
    const { authorization } = upper.payload;
    authorization.from = `0x${authorization.from.slice(2).toUpperCase()}`;
    authorization.nonce = `0x${authorization.nonce.slice(2).toUpperCase()}`;
    const keys = await Promise.all(
      [JSON.stringify(payment), JSON.stringify(upper, null, 2)].map(async (text) => {
        const result = await check(base64(text));
        if (isRefusal(result)) throw new Error(result.detail);
        return keyText(result);
      }),
    );
    expect(keys[0]).toBe(keys[1]);
    expect(parseBytes32(keys[0]?.split(':').at(-1) ?? '')).toBeDefined();
  });

  test('version 1 pays on Base under its old name only', async () => {
    const { payload } = await paymentObject(own);
    const v1 = (network: string) => {
      const payment = decodePaymentV1(
        base64(JSON.stringify({ x402Version: 1, scheme: 'exact', network, payload })),
      );
      if (isRefusal(payment)) throw new Error(payment.detail);
      return verifier.check(payment);
    };
    expect(await v1('base')).toMatchObject({ value: 50n });
    expect(await v1('base-sepolia')).toMatchObject({
      reason: 'invalid_exact_evm_network_mismatch',
    });
  });
});
