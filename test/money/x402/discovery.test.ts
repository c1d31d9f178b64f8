/** What indexes of x402 services read here, judged by the official validators. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkEndpointSchema, discoverOriginSchema } from '@agentcash/discovery';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import {
  extractDiscoveryInfoFromExtension,
  isDiscoverableV1,
  validateDiscoveryExtension,
  type DiscoveryExtension,
} from '@x402/extensions/bazaar';
import { PAYMENT_HEADER_LENGTH_MAX } from '../../../gateway/money/x402/payment.js';
import { receiptOf, signPayment } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';

/** What proxies keep for the headers of a reply unless they are told (nginx: one page of memory). */
const PROXY_BYTES = 4096;
/** The other headers of a challenge, and the signed quote where the price follows gas. */
const OTHER_BYTES = 800;

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ env: { X402_V1: 'on' } });
});
afterAll(() => service.stop());

async function challenge(): Promise<{ header: string; body: string }> {
  const reply = await service.search({ query: 'bread' });
  return { header: reply.headers.get('payment-required') ?? '', body: await reply.text() };
}

test('the challenge says how a search is called, as the official validator wants it', async () => {
  const { extensions } = decodePaymentRequiredHeader((await challenge()).header);
  const bazaar = extensions?.bazaar as DiscoveryExtension;
  expect(validateDiscoveryExtension(bazaar)).toEqual({ valid: true });
  expect(extractDiscoveryInfoFromExtension(bazaar)).toMatchObject({
    input: { type: 'http', method: 'POST', bodyType: 'json', body: { maxResults: 10 } },
  });
});

test('the challenge of a pack says how one is bought, and its header is as short', async () => {
  const reply = await fetch(`${service.gatewayUrl}/packs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(reply.status).toBe(402);
  const header = reply.headers.get('payment-required') ?? '';
  expect(header.length).toBeLessThan(PROXY_BYTES - OTHER_BYTES);
  const bazaar = decodePaymentRequiredHeader(header).extensions?.bazaar as DiscoveryExtension;
  expect(validateDiscoveryExtension(bazaar)).toEqual({ valid: true });
  expect(extractDiscoveryInfoFromExtension(bazaar)).toMatchObject({
    input: { type: 'http', method: 'POST', bodyType: 'json', body: { searches: 1000 } },
  });
  await reply.arrayBuffer();
});

test('its example is a search that runs', async () => {
  const { extensions } = decodePaymentRequiredHeader((await challenge()).header);
  const { info } = extensions?.bazaar as { info: { input: { body: object } } };
  const authorization = `Bearer ${service.dev.apiKey}`;
  const reply = await service.search(info.input.body, { authorization });
  expect(reply.status).toBe(200);
  await reply.arrayBuffer();
});

test('the header stays short enough for proxies, and the payment that repeats it for us', async () => {
  const { header } = await challenge();
  expect(header.length).toBeLessThan(PROXY_BYTES - OTHER_BYTES);
  const payment = await signPayment(service, { query: 'bread' });
  expect(payment.length).toBeLessThan(PAYMENT_HEADER_LENGTH_MAX);
  const reply = await service.search({ query: 'bread' }, { 'payment-signature': payment });
  expect(reply.status).toBe(200);
  expect(receiptOf(reply).success).toBe(true);
  await reply.arrayBuffer();
});

test('version 1 says the same in its output schema', async () => {
  const { accepts } = JSON.parse((await challenge()).body) as {
    accepts: Parameters<typeof isDiscoverableV1>[0][];
  };
  const [first] = accepts;
  if (!first) throw new Error('nothing is offered');
  expect(isDiscoverableV1(first)).toBe(true);
});

test('the index of Agentcash finds one paid route, with its payment options', async () => {
  const found = await discoverOriginSchema({ target: service.gatewayUrl });
  if (!found.found) throw new Error(`nothing was discovered: ${found.cause}`);
  const search = found.endpoints.find(({ path }) => path === '/search');
  expect(search).toMatchObject({ method: 'POST', authMode: expect.stringContaining('paid') });
  const url = `${service.gatewayUrl}/search`;
  const sampleInputBody = { query: 'bread' };
  const endpoint = await checkEndpointSchema({ url, probe: true, sampleInputBody });
  if (!endpoint.found) throw new Error(`the search was not found: ${endpoint.cause}`);
  expect(endpoint.advisories).toMatchObject([{ method: 'POST', authMode: 'paid' }]);
  expect(JSON.stringify(endpoint.advisories)).toContain('eip155:8453');
});
