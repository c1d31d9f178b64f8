import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { wrapAxiosWithPayment } from '@x402/axios';
import { wrapFetchWithPayment } from '@x402/fetch';
import axios from 'axios';
import { expectRefusal } from '../support/errors.js';
import { devClient, receiptOf, signPayment, transfersToPayee } from '../support/pay.js';
import { realClock } from '../support/ports.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

describe('official clients pay unchanged', () => {
  test('@x402/fetch gets results and a receipt whose transaction moved the quoted amount', async () => {
    const pay = wrapFetchWithPayment(fetch, devClient(service));
    const response = await pay(`${service.gatewayUrl}/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'lighthouse lamp' }),
    });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { result: { totalResults: number } };
    expect(body.result.totalResults).toBeGreaterThan(0);
    const receipt = receiptOf(response);
    expect(receipt).toMatchObject({
      success: true,
      network: 'eip155:8453',
      amount: '50',
      payer: service.dev.payerAddress.toLowerCase(),
    });
    const transfers = await transfersToPayee(service);
    const mine = transfers.filter((log) => log.transactionHash === receipt.transaction);
    expect(mine.map((log) => [log.args.from?.toLowerCase(), log.args.value])).toEqual([
      [service.dev.payerAddress.toLowerCase(), 50n],
    ]);
  });

  test('@x402/axios does as well', async () => {
    const pay = wrapAxiosWithPayment(axios.create(), devClient(service) as never);
    const response = await pay.post<{ result: { totalResults: number } }>(
      `${service.gatewayUrl}/search`,
      { query: 'bread' },
    );
    expect(response.status).toBe(200);
    expect(response.data.result.totalResults).toBeGreaterThan(0);
    expect(response.headers['payment-response']).toBeDefined();
  });
});

describe('one authorization', () => {
  test('sent 200 times at once is one search, one transfer, and 200 equal replies', async () => {
    const body = { query: 'tide tables' };
    const payment = { 'payment-signature': await signPayment(service, body) };
    const before = await transfersToPayee(service);
    const responses = await Promise.all(
      Array.from({ length: 200 }, () => service.search(body, payment)),
    );
    const replies = await Promise.all(
      responses.map(async (response) => ({
        status: response.status,
        body: await response.text(),
        receipt: response.headers.get('payment-response'),
        id: response.headers.get('x-request-id'),
      })),
    );
    expect(new Set(replies.map((reply) => JSON.stringify(reply))).size).toBe(1);
    expect(replies[0]?.status).toBe(200);
    expect((await transfersToPayee(service)).length - before.length).toBe(1);
  });

  test('sent again later gets the same bytes and the same receipt, and moves nothing', async () => {
    const body = { query: 'salt' };
    const payment = { 'payment-signature': await signPayment(service, body) };
    const first = await service.search(body, payment);
    const before = await transfersToPayee(service);
    const again = await service.search({ maxResults: 10, query: 'salt' }, payment);
    expect(again.status).toBe(200);
    expect(await again.text()).toBe(await first.text());
    expect(receiptOf(again)).toEqual(receiptOf(first));
    expect(await transfersToPayee(service)).toHaveLength(before.length);
  });

  test('is refused for another search', async () => {
    const payment = { 'payment-signature': await signPayment(service, { query: 'water' }) };
    expect((await service.search({ query: 'water' }, payment)).status).toBe(200);
    const other = await service.search({ query: 'flour' }, payment);
    expect(other.headers.get('payment-required')).not.toBeNull();
    expect(other.headers.get('payment-response')).toBeNull();
    await expectRefusal(other, 'authorization_bound_to_other_request');
  });

  test('that names another payer than its signer is refused, with a fresh quote', async () => {
    const header = await signPayment(service, { query: 'x' });
    const payload = JSON.parse(Buffer.from(header, 'base64').toString()) as {
      payload: { authorization: { from: string } };
    };
    payload.payload.authorization.from = service.dev.payTo;
    const forged = Buffer.from(JSON.stringify(payload)).toString('base64');
    const response = await service.search({ query: 'x' }, { 'payment-signature': forged });
    expect(response.headers.get('payment-required')).not.toBeNull();
    const { detail } = await expectRefusal(response, 'payment_invalid');
    expect(detail).toMatch(/signature|signed/i);
  });
});

test('fifty payments at once are all settled, in fewer transactions than payments', async () => {
  const bodies = Array.from({ length: 50 }, (_, index) => ({ query: `lamp ${index}` }));
  const payments = await Promise.all(bodies.map((body) => signPayment(service, body)));
  const responses = await Promise.all(
    bodies.map(async (body, index) => {
      const pay = () => service.search(body, { 'payment-signature': payments[index] ?? '' });
      const first = await pay().catch(() => undefined);
      // On a machine that is too busy, what a payer does: sends the same payment again.
      return first === undefined || first.status === 503 ? pay() : first;
    }),
  );
  expect(responses.map((response) => response.status)).toEqual(bodies.map(() => 200));
  const transactions = new Set(responses.map((response) => receiptOf(response).transaction));
  expect(transactions.size).toBeLessThan(50);
});

test('an unpaid request asks nothing of the chain and writes nothing', async () => {
  const REQUESTS = 40;
  const look = async () => {
    const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
    const sum = (name: string) =>
      [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)$`, 'gm'))].reduce(
        (total, [, count]) => total + Number(count),
        0,
      );
    return { rpc: sum('search402_rpc_calls_total'), writes: sum('search402_store_writes_total') };
  };
  const before = await look();
  expect(before.writes).toBeGreaterThan(0);
  const startedMs = performance.now();
  for (let index = 0; index < REQUESTS; index += 1) {
    await expectRefusal(await service.search({ query: `w${index}` }), 'payment_required');
  }
  const after = await look();
  // The service looks at the chain and writes by itself as well: as often, in as long a time.
  await realClock.sleep(performance.now() - startedMs);
  const later = await look();
  const more = (of: 'rpc' | 'writes') => after[of] - before[of] - (later[of] - after[of]);
  expect(more('rpc')).toBeLessThan(REQUESTS / 2);
  expect(more('writes')).toBeLessThan(REQUESTS / 2);
});
