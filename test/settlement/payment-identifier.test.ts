import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { signPayment, transfersToPayee } from '../support/pay.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
}, 60_000);
afterAll(() => service.stop());

/** A payment for `body` under the payer's own identifier, signed anew each time. */
async function payment(body: unknown, id: string): Promise<Record<string, string>> {
  const header = await signPayment(service, body);
  const payload = JSON.parse(Buffer.from(header, 'base64').toString()) as object;
  const extensions = { 'payment-identifier': { info: { required: false, id } } };
  const named = Buffer.from(JSON.stringify({ ...payload, extensions })).toString('base64');
  return { 'payment-signature': named };
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
});
