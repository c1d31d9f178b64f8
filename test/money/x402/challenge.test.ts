import { describe, expect, test } from '@jest/globals';
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http';
import { parsePaymentRequired } from '@x402/core/schemas';
import { DEFAULT_ASSETS } from '@x402/evm';
import { bytes32, usdcUnits } from '../../../gateway/ground/domain/units.js';
import {
  createChallengeEncoder,
  encodePaymentRequired,
  paymentRequired,
  paymentRequiredV1,
} from '../../../gateway/money/x402/challenge.js';
import {
  encodePaymentResponse,
  encodePaymentResponseV1,
} from '../../../gateway/money/x402/receipt.js';
import { resource, terms } from '../../support/presented.js';

const own = terms();

describe('the challenge', () => {
  test('says price, network, asset, payee, window and domain in the official form', () => {
    const challenge = decodePaymentRequiredHeader(encodePaymentRequired({ terms: own, resource }));
    expect(parsePaymentRequired(challenge).success).toBe(true);
    expect(challenge).toMatchObject({
      x402Version: 2,
      resource,
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:8453',
          amount: '50',
          asset: own.asset,
          payTo: own.payTo,
          maxTimeoutSeconds: 300,
          extra: { name: 'USD Coin', version: '2' },
        },
      ],
      extensions: { 'payment-identifier': { info: { required: false } } },
    });
    expect(challenge).not.toHaveProperty('error');
  });

  test('offers a channel at a price without gas before exact, and says so', () => {
    const channels = {
      amount: usdcUnits(50n),
      receiverAuthorizer: own.payTo,
      withdrawDelaySeconds: 86_400,
      minDeposit: usdcUnits(50_000n),
      window: usdcUnits(3200n),
    };
    const { accepts } = paymentRequired({
      terms: { ...own, amount: usdcUnits(90n) },
      ...{ resource, channels, extra: { gas: '40' } },
    });
    expect(accepts).toMatchObject([
      { scheme: 'batch-settlement', amount: '50', extra: { gas: '0', minDeposit: '50000' } },
      { scheme: 'exact', amount: '90', extra: { gas: '40' } },
    ]);
  });

  test('tells why a payment was not acceptable', () => {
    const error = 'invalid_exact_evm_signature';
    const header = encodePaymentRequired({ terms: own, resource, error });
    expect(decodePaymentRequiredHeader(header)).toMatchObject({ error });
  });

  test('never lets what is added to extra replace the token’s domain', () => {
    const extra = { name: 'Other', quote: 'q' };
    const header = encodePaymentRequired({ terms: own, resource, extra });
    expect(decodePaymentRequiredHeader(header).accepts[0]?.extra).toEqual({
      name: 'USD Coin',
      version: '2',
      quote: 'q',
    });
  });

  test('is encoded once for the same terms and resource, and anew when either changes', () => {
    const encode = createChallengeEncoder();
    const first = encode({ terms: own, resource });
    expect(first).toBe(encodePaymentRequired({ terms: own, resource }));
    expect(encode({ terms: own, resource })).toBe(first);
    const dearer = terms({ amount: usdcUnits(51n) });
    expect(encode({ terms: dearer, resource })).toBe(
      encodePaymentRequired({ terms: dearer, resource }),
    );
    expect(encode({ terms: own, resource, error: 'x' })).not.toBe(first);
    expect(encode({ terms: own, resource: { url: 'http://other/search' } })).not.toBe(first);
  });

  test('of version 1 is the body that its clients read', () => {
    const challenge = paymentRequiredV1({ terms: own, resource });
    expect(parsePaymentRequired(challenge).success).toBe(true);
    expect(challenge.accepts[0]).toMatchObject({
      network: 'base',
      maxAmountRequired: '50',
      resource: resource.url,
    });
  });

  test('names the token that the official client knows for Base', () => {
    const known = DEFAULT_ASSETS['eip155:8453']?.[0];
    expect(known).toMatchObject({ name: own.domain.name, version: own.domain.version });
    expect(known?.asset.toLowerCase()).toBe(own.asset);
  });
});

describe('a receipt', () => {
  const from = { chainId: 8453, payer: own.payTo };
  const transaction = bytes32(`0x${'ab'.repeat(32)}`);

  test('of a settled payment names transaction, payer and amount', () => {
    const header = encodePaymentResponse({ ...from, transaction, amount: usdcUnits(50n) });
    expect(decodePaymentResponseHeader(header)).toEqual({
      success: true,
      transaction,
      network: 'eip155:8453',
      payer: own.payTo,
      amount: '50',
    });
    const v1 = encodePaymentResponseV1({ ...from, transaction, amount: usdcUnits(50n) });
    expect(decodePaymentResponseHeader(v1)).toMatchObject({ success: true, network: 'base' });
  });

  test('of a failed payment says why, and has an empty transaction when there was none', () => {
    const errorReason = 'invalid_exact_evm_transaction_failed';
    expect(decodePaymentResponseHeader(encodePaymentResponse({ ...from, errorReason }))).toEqual({
      success: false,
      errorReason,
      transaction: '',
      network: 'eip155:8453',
      payer: own.payTo,
    });
    const failed = encodePaymentResponse({ ...from, errorReason, transaction });
    expect(decodePaymentResponseHeader(failed)).toMatchObject({ success: false, transaction });
  });
});
