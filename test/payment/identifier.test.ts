import { describe, expect, test } from '@jest/globals';
import { isRefusal } from '../../gateway/domain/refusal.js';
import { address, usdcUnits, type Hex } from '../../gateway/domain/units.js';
import type { CheckedAuthorization } from '../../gateway/payment/authorization.js';
import { purchaseIdentifier } from '../../gateway/payment/identifier.js';
import { matchTerms } from '../../gateway/payment/rules.js';
import { decodePaymentSignature } from '../../gateway/x402/payment.js';
import { paymentHeader, resource, terms } from '../support/presented.js';

const ID = 'pay_0123456789abcdef';
const binding: Hex = `0x${'b1'.repeat(32)}`;

async function authorization(
  over: Partial<CheckedAuthorization> = {},
): Promise<CheckedAuthorization> {
  const payment = decodePaymentSignature(await paymentHeader(terms()));
  if (isRefusal(payment)) throw new Error(payment.detail);
  const matched = matchTerms(payment, terms(), resource);
  if (isRefusal(matched)) throw new Error(matched.detail);
  return { ...matched, signedBy: 'key', ...over };
}

describe('a payment identifier', () => {
  test('means the same purchase under a new authorization of the same payer', async () => {
    const one = await authorization();
    const other = { ...one, nonce: `0x${'08'.repeat(32)}` as typeof one.nonce };
    expect(purchaseIdentifier(one, ID, binding)).toEqual(purchaseIdentifier(other, ID, binding));
  });

  test('is the payer’s own, and means another purchase for another request, payee or amount', async () => {
    const one = await authorization();
    const base = purchaseIdentifier(one, ID, binding);
    const other = address(`0x${'0c'.repeat(20)}`);
    expect(purchaseIdentifier({ ...one, from: other }, ID, binding)?.payer).not.toBe(base?.payer);
    for (const [changed, boundTo] of [
      [one, `0x${'b2'.repeat(32)}`],
      [{ ...one, to: other }, binding],
      [{ ...one, value: usdcUnits(51n) }, binding],
    ] as const)
      expect(purchaseIdentifier(changed, ID, boundTo)?.fingerprint).not.toBe(base?.fingerprint);
  });

  test('stands for nothing where the payer’s key has not signed', async () => {
    expect(
      purchaseIdentifier(await authorization({ signedBy: 'contract' }), ID, binding),
    ).toBeUndefined();
    expect(purchaseIdentifier(await authorization(), undefined, binding)).toBeUndefined();
  });
});
