// What a payer can show afterwards: signed offers and receipts, by our SDK and by the extension's own package.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { decodePaymentRequiredHeader } from '@x402/core/http';
import type { PaymentRequired } from '@x402/core/types';
import { wrapFetchWithPayment } from '@x402/fetch';
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type JWSSignedOffer,
  type JWSSignedReceipt,
} from '@x402/extensions/offer-receipt';
import { run } from '../../sdk/typescript/src/cli/run.js';
import { privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import * as sdk from '../../sdk/typescript/src/index.js';
import { startNamedService } from '../support/named-service.js';
import { devClient } from '../support/pay.js';
import { removeTemporaries, temporary } from '../support/temporary.js';
import type { TestService } from '../support/service.js';

removeTemporaries();

interface DidDocument {
  readonly id: string;
  readonly verificationMethod: readonly { readonly id: string; readonly publicKeyJwk: Jwk }[];
}
interface Jwk {
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
}

let service: TestService;
let origin: string;
let didDocument: DidDocument;
let key: Jwk;
beforeAll(async () => {
  ({ service, origin } = await startNamedService({
    env: { SIGNED_OFFERS: 'on', RETENTION: 'off' },
  }));
  const answer = await fetch(`${service.gatewayUrl}/.well-known/did.json`);
  didDocument = (await answer.json()) as DidDocument;
  const [method] = didDocument.verificationMethod;
  if (!method) throw new Error('the document names no key');
  key = method.publicKeyJwk;
});
afterAll(() => service.stop());

const QUERY = { query: 'sourdough bread', maxResults: 3 };
const post = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const search = () =>
  new sdk.Search402({
    baseUrl: service.gatewayUrl,
    wallet: privateKeyAccount(service.dev.payerPrivateKey),
    payment: { store: new sdk.MemoryStore() },
    logLevel: 'off',
  }).search(QUERY);

describe('the official package', () => {
  test('takes the offers of a challenge for what they are', async () => {
    const answer = await fetch(`${service.gatewayUrl}/search`, post(QUERY));
    const required = decodePaymentRequiredHeader(answer.headers.get('payment-required') ?? '');
    const offers = extractOffersFromPaymentRequired(required);
    expect(offers).toHaveLength(required.accepts.length);
    for (const offer of decodeSignedOffers(offers)) {
      const terms = await verifyOfferSignatureJWS(offer.signedOffer as JWSSignedOffer, key);
      expect(terms.validUntil).toBeGreaterThan(Date.now() / 1000 + 60);
      expect(findAcceptsObjectFromSignedOffer(offer, required.accepts)).toMatchObject({
        scheme: terms.scheme,
        amount: terms.amount,
      });
    }
  });

  test('pays as before, and matches the receipt to the offer', async () => {
    const asked = await fetch(`${service.gatewayUrl}/search`, post(QUERY));
    const required = decodePaymentRequiredHeader(asked.headers.get('payment-required') ?? '');
    const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required));
    const answer = await wrapFetchWithPayment(fetch, devClient(service))(
      `${service.gatewayUrl}/search`,
      post(QUERY),
    );
    expect(answer.status).toBe(200);
    const receipt = extractReceiptFromResponse(answer) as JWSSignedReceipt;
    const claims = await verifyReceiptSignatureJWS(receipt, key);
    expect(claims.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect(offer && verifyReceiptMatchesOffer(receipt, offer, [claims.payer])).toBe(true);
  });
});

describe('the command line', () => {
  const cli = async (argv: readonly string[]) => {
    const lines: string[] = [];
    const note = (line: string) => void lines.push(line);
    const env = { SEARCH402_BASE_URL: origin, SEARCH402_PRIVATE_KEY: service.dev.payerPrivateKey };
    const code = await run(argv, '0', { out: note, err: note, env });
    return { code, text: lines.join('\n') };
  };

  test('verifies what it has paid for, and refuses what was changed', async () => {
    const folder = temporary();
    const [file, changed, did] = ['both.json', 'changed.json', 'did.json'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    const store = ['--store', join(folder, 'payments')];
    const paid = await cli(['pay', '--json', ...store, 'sourdough', 'bread']);
    writeFileSync(file, paid.text);
    writeFileSync(changed, paid.text.replace('Sourdough', 'Sour dough'));
    writeFileSync(did, JSON.stringify(didDocument));
    const asked = ['--query', 'sourdough bread', '--did', did];
    const good = await cli(['verify', file, ...asked]);
    expect(good.text).toContain('✓ the result is the one that was paid for');
    expect(good.text).toContain('✓ the service’s DID document names this key');
    expect(good.text).toMatch(/^0x[0-9a-fA-F]{40} paid 0\.00005 USD at .*transaction 0x/m);
    expect(good.code).toBe(0);
    expect((await cli(['verify', file, '--online', '--json'])).text).toContain('"ok": true');
    expect((await cli(['verify', file])).text).toContain('- whose key it is was not checked');
    const bad = await cli(['verify', file, changed, ...asked]);
    expect(bad).toMatchObject({
      code: 1,
      text: expect.stringContaining('another result') as unknown,
    });
    expect((await cli(['verify'])).code).toBe(2);
  });
});

describe('a receipt', () => {
  test('proves what was asked, answered and paid, without the network', async () => {
    const { data, headers, receipt, payment } = await search().withResponse();
    const payer = payment?.payer;
    // What proxies keep for the headers of a reply unless they are told.
    expect(headers.get('payment-response')?.length).toBeLessThan(3_000);
    const expected = { result: data, request: QUERY, payer, didDocument };
    const { claims, isServicesKey } = await sdk.verifyReceipt(receipt, expected);
    expect(isServicesKey).toBe(true);
    expect(claims).toMatchObject({
      network: `eip155:${service.dev.chainId}`,
      resourceUrl: `${origin}/search`,
      transaction: payment?.transaction,
      amount: '50',
      indexGeneration: expect.any(Number) as unknown,
    });
    expect(Math.abs(claims.issuedAt - Date.now() / 1000)).toBeLessThan(600);
    // Printed anew, it is the same reply.
    const printed = JSON.stringify({ ...data, payment }, null, 2);
    await expect(sdk.verifyReceipt(receipt, { result: printed })).resolves.toBeDefined();
  });

  test('proves nothing else', async () => {
    const { data, receipt = '' } = await search().withResponse();
    const [first, ...others] = data.result.results;
    if (!first) throw new Error('nothing was found');
    const changed = [{ ...first, title: `${first.title}!` }, ...others];
    const result = { ...data, result: { ...data.result, results: changed } };
    const fails = async (message: RegExp, expected: sdk.ReceiptExpectations, of = receipt) =>
      expect(sdk.verifyReceipt(of, expected)).rejects.toThrow(message);
    await fails(/another result/, { result });
    await fails(/another search/, { request: { ...QUERY, maxResults: 4 } });
    await fails(/another payer/, { payer: `0x${'11'.repeat(20)}` });
    await fails(/does not name the key/, { didDocument: { ...didDocument, id: 'did:web:other' } });
    await fails(/does not name the key/, { didDocument: {} });
    const [header, payload = '', signature] = receipt.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...claims, amount: '1' })).toString('base64url');
    await fails(/signature is wrong/, {}, `${header}.${forged}.${signature}`);
    await fails(/not a signed receipt/, {}, 'nonsense');
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    await fails(/does not know/, {}, `${unsigned}.${payload}.${signature}`);
    const { isServicesKey } = await sdk.verifyReceipt(receipt, { result: data });
    expect(isServicesKey).toBe(false);
  });

  test('comes with the same payment sent again, for the same reply', async () => {
    const asked = await fetch(`${service.gatewayUrl}/search`, post(QUERY));
    const required = decodePaymentRequiredHeader(asked.headers.get('payment-required') ?? '');
    const payload = await devClient(service).createPaymentPayload(required);
    const header = Buffer.from(JSON.stringify(payload)).toString('base64');
    const send = async () => {
      const { headers, body, method } = post(QUERY);
      const paid = { ...headers, 'payment-signature': header };
      const answer = await fetch(`${service.gatewayUrl}/search`, { method, body, headers: paid });
      const result = await answer.text();
      const response = answer.headers.get('payment-response');
      return (await sdk.verifyReceipt(response, { result, request: QUERY, didDocument })).claims;
    };
    const [first, again] = [await send(), await send()];
    expect({ ...again, issuedAt: 0 }).toEqual({ ...first, issuedAt: 0 });
  });

  test('of a tool call is for the structured content', async () => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.gatewayUrl}/mcp`)));
    const call = { name: 'search', arguments: QUERY };
    const required = (await client.callTool(call)).structuredContent as PaymentRequired;
    expect(extractOffersFromPaymentRequired(required)).not.toHaveLength(0);
    const payment = await devClient(service).createPaymentPayload(required);
    const paid = await client.callTool({ ...call, _meta: { 'x402/payment': payment } });
    await client.close();
    const response = paid._meta?.['x402/payment-response'];
    const result = paid.structuredContent as sdk.SearchResponse;
    const verified = await sdk.verifyReceipt(response, { result, request: QUERY, didDocument });
    expect(verified.isServicesKey).toBe(true);
  });
});
