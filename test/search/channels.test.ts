import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { x402Client } from '@x402/core/client';
import type { PaymentRequired } from '@x402/core/types';
import { BatchSettlementEvmScheme } from '@x402/evm/batch-settlement/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import { receiptOf } from '../support/pay.js';
import { reachDevChain, type Payer } from '../support/chain.js';
import { goodAnswer, startFakeSearchCore } from '../support/fake-search-core.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;
let chain: Awaited<ReturnType<typeof reachDevChain>>;

beforeAll(async () => {
  service = await startTestService({ env: { CHANNELS: 'on' } });
  chain = await reachDevChain(service.dev.rpcUrl);
}, 60_000);
afterAll(() => service.stop());

/** An official client of one payer, with its state in memory and no RPC. */
function officialClient(payer: Payer, fetching: typeof fetch = fetch) {
  const scheme = new BatchSettlementEvmScheme(payer.account);
  const client = new x402Client().register('eip155:8453', scheme);
  const pay = wrapFetchWithPayment(fetching, client);
  return {
    scheme,
    search: (query: string) =>
      pay(`${service.gatewayUrl}/search`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      }),
  };
}

describe('the official client', () => {
  test('deposits with its first search, and pays the next ones with vouchers alone', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    const { search } = officialClient(payer);
    const first = await search('lighthouse lamp');
    expect(first.status).toBe(200);
    expect(receiptOf(first)).toMatchObject({
      success: true,
      amount: '50000',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      extra: {
        chargedAmount: '50',
        channelState: { balance: '50000', chargedCumulativeAmount: '50', totalClaimed: '0' },
      },
    });
    expect(await chain.balance(payer.address)).toBe(950_000n);
    for (const charged of ['100', '150', '200']) {
      const next = await search('bread');
      expect(next.status).toBe(200);
      expect(receiptOf(next)).toMatchObject({
        success: true,
        amount: '',
        transaction: '',
        extra: { chargedAmount: '50', channelState: { chargedCumulativeAmount: charged } },
      });
    }
    expect(await chain.balance(payer.address)).toBe(950_000n);
  });

  test('that knows `exact` alone is offered it beside channels', async () => {
    const unpaid = await service.search({ query: 'tides' });
    const { accepts } = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '');
    expect(accepts.map(({ scheme }) => scheme)).toEqual(['batch-settlement', 'exact']);
  });
});

/** Sends requests on, and remembers the last one that carried a payment. */
function recording() {
  const sent: { url: string; init: RequestInit }[] = [];
  const fetching: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.headers.has('payment-signature')) {
      sent.push({
        url: request.url,
        init: {
          method: request.method,
          headers: request.headers,
          body: await request.clone().text(),
        },
      });
    }
    return fetch(request);
  };
  return { sent, fetching };
}

describe('one voucher', () => {
  test('sent again gets the same bytes and receipt, and another search a correction', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    const { sent, fetching } = recording();
    const { search } = officialClient(payer, fetching);
    await search('bread');
    const reply = await search('lighthouse');
    const bytes = await reply.text();
    const { url, init } = sent.at(-1) ?? { url: '', init: {} };
    const again = await fetch(url, init);
    expect(again.status).toBe(200);
    expect(await again.text()).toBe(bytes);
    expect(again.headers.get('payment-response')).toBe(reply.headers.get('payment-response'));
    const other = await fetch(url, { ...init, body: JSON.stringify({ query: 'tides' }) });
    expect(other.status).toBe(402);
    // The channel as it was told before, and no proof of a search that was not made.
    const { extensions, ...told } = receiptOf(reply);
    expect(extensions).toHaveProperty('offer-receipt');
    expect(receiptOf(other)).toEqual(told);
    const challenge = decodePaymentRequiredHeader(other.headers.get('payment-required') ?? '');
    expect(challenge.error).toBe('invalid_batch_settlement_evm_cumulative_amount_mismatch');
    expect(challenge.accepts[0]?.extra).toMatchObject({
      channelState: { chargedCumulativeAmount: '100' },
      voucherState: { signedMaxClaimable: '100' },
    });
  });

  test('of a client that lost a reply heals it without an RPC', async () => {
    const payer = await chain.newPayer({ usdc: 1_000_000n });
    let isLost = false;
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (isLost && response.status === 200) throw new TypeError('the connection was lost');
      return response;
    };
    const { search } = officialClient(payer, losing);
    expect((await search('bread')).status).toBe(200);
    isLost = true;
    await expect(search('lighthouse')).rejects.toThrow('the connection was lost');
    isLost = false;
    expect((await search('tides')).status).toBe(402);
    const healed = await search('tides');
    expect(healed.status).toBe(200);
    expect(receiptOf(healed).extra).toMatchObject({
      channelState: { chargedCumulativeAmount: '150' },
    });
  });
});

test('a tool call pays with a deposit by _meta, and the deposit pays for no other search', async () => {
  const payer = await chain.newPayer({ usdc: 1_000_000n });
  const scheme = new BatchSettlementEvmScheme(payer.account);
  const wallet = new x402Client().register('eip155:8453', scheme);
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.gatewayUrl}/mcp`)));
  const call = { name: 'search', arguments: { query: 'bread' } };
  const asked = await client.callTool(call);
  const required = asked.structuredContent as PaymentRequired;
  const deposit = await wallet.createPaymentPayload(required);
  const first = await client.callTool({ ...call, _meta: { 'x402/payment': deposit } });
  expect(first._meta?.['x402/payment-response']).toMatchObject({
    ...{ success: true, amount: '50000' },
    extra: { channelState: { chargedCumulativeAmount: '50' } },
  });
  // Sent again for another search, its voucher is a correction.
  const other = { name: 'search', arguments: { query: 'tides' } };
  const spent = await client.callTool({ ...other, _meta: { 'x402/payment': deposit } });
  expect(spent.isError).toBe(true);
  await client.close();
});

test('a search that fails sends no deposit, and the same deposit pays for it when it comes again', async () => {
  const core = await startFakeSearchCore();
  const faulty = await startTestService({ env: { CHANNELS: 'on', SEARCH_CORE_URL: core.url } });
  try {
    const other = await reachDevChain(faulty.dev.rpcUrl);
    const payer = await other.newPayer({ usdc: 1_000_000n });
    const wallet = new x402Client().register(
      'eip155:8453',
      new BatchSettlementEvmScheme(payer.account),
    );
    const body = { query: 'bread' };
    const unpaid = await faulty.search(body);
    const challenge = decodePaymentRequiredHeader(unpaid.headers.get('payment-required') ?? '');
    const payment = encodePaymentSignatureHeader(await wallet.createPaymentPayload(challenge));
    core.behave((_, response) => response.writeHead(500).end());
    const failed = await faulty.search(body, { 'payment-signature': payment });
    expect(failed.status).toBe(502);
    expect(await other.balance(payer.address)).toBe(1_000_000n);
    core.behave((request, response) => response.end(goodAnswer(request)));
    const paid = await faulty.search(body, { 'payment-signature': payment });
    expect(paid.status).toBe(200);
    expect(await other.balance(payer.address)).toBe(950_000n);
    expect(receiptOf(paid).extra).toMatchObject({
      channelState: { balance: '50000', chargedCumulativeAmount: '50' },
    });
  } finally {
    await faulty.stop();
    await core.stop();
  }
});
