import { describe, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { decodePaymentResponseHeader } from '@x402/core/http';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { isRefusal } from '../../../gateway/ground/domain/refusal.js';
import { bytes32, usdcUnits } from '../../../gateway/ground/domain/units.js';
import { createVerifier } from '../../../gateway/money/payment/verifier.js';
import { paymentRequiredV1 } from '../../../gateway/money/x402/challenge.js';
import { decodePaymentV1 } from '../../../gateway/money/x402/payment.js';
import { encodePaymentResponseV1 } from '../../../gateway/money/x402/receipt.js';
import { payer, resource, standingClock, terms } from '../../support/presented.js';

const own = terms();
const verifier = createVerifier({
  chain: { ethCall: () => Promise.reject(new Error('the chain was asked')) },
  clock: standingClock(),
  offer: () => ({ terms: own, resource }),
  limits: { settleMarginSeconds: 10, validityMaxSeconds: 86_400, deadlineMs: 1000 },
  contractWallets: false,
  eip6492Factories: [],
});

/** A server of version 1 made of the gateway's parts; anything else than a good payment throws. */
const server: typeof fetch = async (input) => {
  const header = new Request(input).headers.get('X-PAYMENT');
  if (header === null)
    return Response.json(paymentRequiredV1({ terms: own, resource }), { status: 402 });
  const payment = decodePaymentV1(header);
  if (isRefusal(payment)) throw new Error(payment.detail);
  const checked = await verifier.check(payment);
  if (isRefusal(checked)) throw new Error(checked.detail);
  if (checked.objection) throw new Error(checked.objection.detail);
  const receipt = encodePaymentResponseV1({
    chainId: checked.chainId,
    payer: checked.from,
    transaction: bytes32(`0x${'ab'.repeat(32)}`),
    amount: usdcUnits(checked.value),
  });
  return Response.json({ found: 1 }, { headers: { 'X-PAYMENT-RESPONSE': receipt } });
};

describe('version 1', () => {
  test('is spoken with the official client, from the challenge in the body to the receipt', async () => {
    const client = new x402Client().registerV1('base', new ExactEvmSchemeV1(payer));
    const paid = await wrapFetchWithPayment(server, client)(resource.url, { method: 'POST' });
    expect(paid.status).toBe(200);
    expect(decodePaymentResponseHeader(paid.headers.get('X-PAYMENT-RESPONSE') ?? '')).toEqual({
      success: true,
      transaction: `0x${'ab'.repeat(32)}`,
      network: 'base',
      payer: payer.address.toLowerCase(),
      amount: '50',
    });
  });
});
