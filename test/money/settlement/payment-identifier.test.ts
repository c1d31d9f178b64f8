import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http';
import { devClient, signPayment, transfersToPayee } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

/** A payment for `body` under the payer's own identifier, signed anew each time. */
async function payment(body: unknown, id: string): Promise<Record<string, string>> {
  return { 'payment-signature': named(await signPayment(service, body), id) };
}

/** The same payment with an identifier. */
function named(header: string, id: string): string {
  const payload = JSON.parse(Buffer.from(header, 'base64').toString()) as object;
  const extensions = { 'payment-identifier': { info: { required: false, id } } };
  return Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64');
}

const newIdentifier = () => randomBytes(16).toString('hex');

describe('a payment identifier', () => {
  test('sent again with the same request brings the stored reply and no second charge', async () => {
    const body = { query: 'lighthouse' };
    const id = newIdentifier();
    const first = await service.search(body, await payment(body, id));
    expect(first.status).toBe(200);
    const before = await transfersToPayee(service);
    const second = await service.search(body, await payment(body, id));
    expect(second.status).toBe(200);
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('payment-response')).toBe(first.headers.get('payment-response'));
    expect(await transfersToPayee(service)).toHaveLength(before.length);
  });

  test('sent again with another request is a conflict, and nothing is charged', async () => {
    const id = newIdentifier();
    const body = { query: 'bread' };
    await service.search(body, await payment(body, id));
    const before = await transfersToPayee(service);
    const other = { query: 'tide tables' };
    const response = await service.search(other, await payment(other, id));
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'payment_identifier_conflict' });
    expect(await transfersToPayee(service)).toHaveLength(before.length);
  });

  test('of a top-up is a conflict for another amount, and nothing is charged', async () => {
    const id = newIdentifier();
    const ask = (amountUsd: string, headers: Record<string, string> = {}) =>
      fetch(`${service.gatewayUrl}/account/credits`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.dev.apiKey}`,
          'content-type': 'application/json',
          ...headers,
        },
        body: JSON.stringify({ amountUsd }),
      });
    const pay = async (amountUsd: string) => {
      const quote = (await ask(amountUsd)).headers.get('payment-required') ?? '';
      const payload = await devClient(service).createPaymentPayload(
        decodePaymentRequiredHeader(quote),
      );
      const header = named(encodePaymentSignatureHeader(payload), id);
      return ask(amountUsd, { 'payment-signature': header });
    };
    expect((await pay('1')).status).toBe(200);
    const before = await transfersToPayee(service);
    const response = await pay('0.5');
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: 'payment_identifier_conflict' });
    expect(await transfersToPayee(service)).toHaveLength(before.length);
  });
});
