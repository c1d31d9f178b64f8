import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { x402Client } from '@x402/core/client';
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { ExactEvmSchemeV1 } from '@x402/evm/exact/v1/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import type { Hex } from '../../gateway/domain/units.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ env: { PRICE_COVERS_GAS: 'on', X402_V1: 'on' } });
});
afterAll(() => service.stop());

const payer = () => privateKeyToAccount(service.dev.payerPrivateKey as Hex);
const request = () => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: 'lighthouse lamp' }),
});

describe('the running service with a price that covers the gas', () => {
  test('quotes more than the floor, signed, and takes that from the official client', async () => {
    const unpaid = await service.search({ query: 'lighthouse lamp' });
    const challenge = decodePaymentRequiredHeader(unpaid.headers.get('PAYMENT-REQUIRED') ?? '');
    const [asked] = challenge.accepts;
    expect(BigInt(asked?.amount ?? 0)).toBeGreaterThan(50n);
    expect(asked?.extra).toMatchObject({ quote: expect.any(String) as unknown });

    const client = new x402Client().register('eip155:8453', new ExactEvmScheme(payer()));
    const paid = await wrapFetchWithPayment(fetch, client)(
      `${service.gatewayUrl}/search`,
      request(),
    );
    expect(paid.status).toBe(200);
    const receipt = decodePaymentResponseHeader(paid.headers.get('PAYMENT-RESPONSE') ?? '');
    expect(receipt).toMatchObject({ success: true, network: 'eip155:8453' });
    expect(BigInt(receipt.amount ?? 0)).toBeGreaterThan(50n);
  });

  test('serves version 1 to the official client, from the body’s challenge to the receipt', async () => {
    // Clients of version 1 know nothing of the header that version 2 reads first.
    const old: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      const headers = new Headers(response.headers);
      headers.delete('PAYMENT-REQUIRED');
      return new Response(response.body, { status: response.status, headers });
    };
    const client = new x402Client().registerV1('base', new ExactEvmSchemeV1(payer()));
    const paid = await wrapFetchWithPayment(old, client)(`${service.gatewayUrl}/search`, request());
    expect(paid.status).toBe(200);
    const receipt = decodePaymentResponseHeader(paid.headers.get('X-PAYMENT-RESPONSE') ?? '');
    expect(receipt).toMatchObject({ success: true, network: 'base' });
  });
});
