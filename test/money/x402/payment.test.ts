import { describe, expect, test } from '@jest/globals';
import { decodePaymentSignatureHeader } from '@x402/core/http';
import { parsePaymentPayload } from '@x402/core/schemas';
import fc from 'fast-check';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import { paymentRequired } from '../../../gateway/money/x402/challenge.js';
import {
  decodePaymentSignature,
  decodePaymentV1,
  PAYMENT_HEADER_LENGTH_MAX,
} from '../../../gateway/money/x402/payment.js';
import {
  base64,
  officialPayment,
  payer,
  paymentHeader,
  paymentObject,
  resource,
  terms,
} from '../../support/presented.js';

const own = terms();

/** The code of a refusal, or `accepted`. */
function verdict(header: string): string {
  const decoded = decodePaymentSignature(header);
  return isRefusal(decoded) ? decoded.code : 'accepted';
}

function decoded(header: string) {
  const payment = decodePaymentSignature(header);
  if (isRefusal(payment)) throw new Error(payment.detail);
  return payment;
}

describe('a payment of the official client', () => {
  test('is read, with the resource that it sends back', async () => {
    const payment = decoded(await officialPayment(paymentRequired({ terms: own, resource })));
    expect(payment).toMatchObject({
      version: 2,
      scheme: 'exact',
      network: 'eip155:8453',
      resourceUrl: resource.url,
      transfer: { from: payer.address.toLowerCase(), to: own.payTo, value: 50n, validAfter: 0 },
    });
  });

  test('and of this test suite agree with the official schema', async () => {
    const header = await paymentHeader(own);
    expect(parsePaymentPayload(decodePaymentSignatureHeader(header)).success).toBe(true);
  });

  test('of version 1 is read from its own envelope', async () => {
    const { payload } = await paymentObject(own);
    const payment = decodePaymentV1(
      base64(JSON.stringify({ x402Version: 1, scheme: 'exact', network: 'base', payload })),
    );
    expect(payment).toMatchObject({ version: 1, network: 'base', transfer: { value: 50n } });
  });
});

describe('a payment header', () => {
  test('has one spelling: no whitespace, URL alphabet, other padding or stray bits', async () => {
    const description = 'ûÿ¾ ~~ ÿÿÿ';
    const text = JSON.stringify(
      await paymentObject(own, { envelope: { resource: { ...resource, description } } }),
    );
    const padded = base64(text.padEnd(1000 - (Buffer.byteLength(text) - text.length)));
    expect(padded).toMatch(/[+/]/);
    expect(padded.endsWith('==')).toBe(true);
    expect(verdict(padded)).toBe('accepted');
    const variants = {
      'leading space': ` ${padded}`,
      'trailing newline': `${padded}\n`,
      'inner space': `${padded.slice(0, 8)} ${padded.slice(8)}`,
      'no padding': padded.replace(/=+$/, ''),
      'half the padding': padded.slice(0, -1),
      'more padding': `${padded}=`,
      'a further group': `${padded}AAAA`,
      'stray bits': padded.replace(/.==$/, (end) => `${end.startsWith('A') ? 'B' : 'h'}==`),
      'two headers joined': `${padded}, ${padded}`,
      'URL alphabet': padded.replaceAll('+', '-').replaceAll('/', '_'),
      empty: '',
    };
    for (const [name, variant] of Object.entries(variants))
      expect([name, verdict(variant)]).toEqual([name, 'malformed_payment']);
  });

  test('is UTF-8 JSON: bad bytes, a byte order mark and anything but an object are malformed', () => {
    const bytes = (...values: number[]) => Buffer.from(values).toString('base64');
    for (const header of [
      bytes(0x22, 0xff, 0x22),
      bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d),
      bytes(0xed, 0xa0, 0x80),
      base64('[]'),
      base64('null'),
      base64('1'),
      base64('{}'),
      base64('{"x402Version":2'),
      base64('{"x402Version":2}{}'),
    ])
      expect([header, verdict(header)]).toEqual([header, 'malformed_payment']);
  });

  test('names no member twice, and a __proto__ member is no way to smuggle one in', async () => {
    const text = JSON.stringify(await paymentObject(own));
    expect(verdict(base64(text))).toBe('accepted');
    expect(verdict(base64(text.replace('"value":"50"', '"value":"50","value":"50"')))).toBe(
      'malformed_payment',
    );
    expect(verdict(base64(text.replace('"value":"50"', '"value":"50","\\u0076alue":"51"')))).toBe(
      'malformed_payment',
    );
    const { accepted } = await paymentObject(own);
    const smuggled = `{"__proto__":${JSON.stringify({ accepted })},${text.slice(1).replace('"accepted":', '"other":')}`;
    expect(verdict(base64(smuggled))).toBe('malformed_payment');
  });

  test('of more than 8 KiB or of deep nesting is malformed, at once', () => {
    expect(verdict('A'.repeat(PAYMENT_HEADER_LENGTH_MAX + 4))).toBe('malformed_payment');
    const deep = `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`;
    expect(verdict(base64(deep))).toBe('malformed_payment');
  });

  test.each([
    ['value', ''],
    ['value', ' 50'],
    ['value', '0x32'],
    ['value', '050'],
    ['value', '5e1'],
    ['value', '-50'],
    ['value', '50.0'],
    ['value', '9'.repeat(78)],
    ['validAfter', '00'],
    ['validBefore', '1e9'],
    ['to', '0x12'],
    ['from', '833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
    ['nonce', '0x07'],
  ])('whose %s is %p is malformed', async (member, value) => {
    const payment = await paymentObject(own);
    Object.assign(payment.payload.authorization, { [member]: value });
    expect(verdict(base64(JSON.stringify(payment)))).toBe('malformed_payment');
  });

  test('whose numbers are no strings, or that has unknown members in the transfer, is malformed', async () => {
    for (const more of [{ value: 50 }, { validBefore: 1_800_000_300 }, { memo: 'x' }]) {
      const payment = await paymentObject(own);
      Object.assign(payment.payload.authorization, more);
      expect(verdict(base64(JSON.stringify(payment)))).toBe('malformed_payment');
    }
  });

  test('with times that no token counts in seconds is refused with the window’s reason', async () => {
    for (const [member, reason] of [
      ['validAfter', 'invalid_exact_evm_payload_authorization_valid_after'],
      ['validBefore', 'invalid_exact_evm_payload_authorization_valid_before'],
    ] as const) {
      const payment = await paymentObject(own);
      payment.payload.authorization[member] = (2n ** 47n).toString();
      const refusal = decodePaymentSignature(base64(JSON.stringify(payment)));
      expect(refusal).toMatchObject({ code: 'payment_invalid', reason });
    }
  });

  test('may carry a payment identifier of 16 to 128 plain characters', async () => {
    const withId = (id: unknown) =>
      paymentHeader(own, {
        envelope: { extensions: { 'payment-identifier': { info: { required: false, id } } } },
      });
    expect(decoded(await withId('pay_0123456789abcdef')).identifier).toBe('pay_0123456789abcdef');
    expect(decoded(await withId(undefined)).identifier).toBeUndefined();
    for (const id of ['short', 'x'.repeat(129), 'sixteen characters!', 7])
      expect(verdict(await withId(id))).toBe('malformed_payment');
  });

  test('for another kind of chain is well-formed, so that the rules can name what is wrong', async () => {
    const payment = await paymentObject(own, {
      accepted: { network: 'solana:mainnet', asset: 'EPjFWdd5', payTo: 'So1' },
    });
    const solana = { ...payment, payload: { transaction: 'AQAB' } };
    expect(decoded(base64(JSON.stringify(solana))).transfer).toBeUndefined();
  });
});

describe('one authorization', () => {
  test('in any case, JSON order and whitespace is one authorization', async () => {
    const payment = await paymentObject(own);
    const { signature, authorization } = payment.payload;
    const plain = decoded(base64(JSON.stringify(payment))).transfer;
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const reordered = {
      accepted: payment.accepted,
      payload: {
        authorization: {
          nonce: upper(authorization.nonce),
          validBefore: authorization.validBefore,
          validAfter: authorization.validAfter,
          value: authorization.value,
          to: upper(authorization.to),
          from: upper(authorization.from),
        },
        signature: upper(signature),
      },
      x402Version: 2,
    };
    expect(decoded(base64(JSON.stringify(reordered, null, 3))).transfer).toEqual(plain);
  });
});

describe('whatever is sent', () => {
  const never500 = (header: string) => {
    for (const decode of [decodePaymentSignature, decodePaymentV1]) {
      const result = decode(header);
      if (isRefusal(result)) {
        expect([400, 402]).toContain(result.status);
        expect(result.detail.length).toBeLessThan(300);
      }
    }
  };

  test('the decoders return a payment or a refusal, and never throw', () => {
    fc.assert(fc.property(fc.string({ maxLength: 9000 }), never500));
    fc.assert(fc.property(fc.base64String({ maxLength: 2000 }), never500));
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        never500(base64(text));
      }),
    );
  });

  test('a payment with one member replaced by anything is read or refused', async () => {
    const payment = await paymentObject(own, { envelope: { extensions: {} } });
    const paths = leafPaths(payment);
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 3 }), (path, value) => {
        const copy = structuredClone(payment) as Record<string, unknown>;
        const last = path.at(-1) ?? '';
        const parent = path.slice(0, -1).reduce((at, key) => at[key] as typeof copy, copy);
        parent[last] = value;
        never500(base64(JSON.stringify(copy)));
      }),
      { numRuns: 1000 },
    );
  });
});

function leafPaths(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    ...(path.length > 0 ? [path] : []),
    ...Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, [...path, key])),
  ];
}
