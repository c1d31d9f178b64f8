import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { PaymentPayload, PaymentRequired } from '@x402/core/types';
import { devClient, transfersToPayee } from '../../support/pay.js';
import { checkWaysIn } from '../../../commands/mcp/check.js';
import { browser, PERSON, signUp } from '../../support/oauth.js';
import { startNamedService } from '../../support/named-service.js';
import type { TestService } from '../../support/service.js';

let service: TestService;
let publicUrl: string;
beforeAll(async () => {
  ({ service, origin: publicUrl } = await startNamedService());
});
afterAll(async () => {
  await service.stop();
});

async function connect(url: string, key?: string): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  );
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

async function connectV1(url: string): Promise<ClientV1> {
  const client = new ClientV1({ name: 'test', version: '1' });
  await client.connect(new TransportV1(new URL(`${url}/mcp`)));
  return client;
}

const SEARCH = { name: 'search', arguments: { query: 'sourdough bread' } };
const FOUND = { result: { results: [{ url: 'https://pages.example/bread' }] } };

async function pay(client: Client | ClientV1): Promise<PaymentPayload> {
  const asked = await client.callTool(SEARCH);
  expect(asked.isError).toBe(true);
  const required = asked.structuredContent as PaymentRequired;
  return devClient(service).createPaymentPayload(required);
}

const availableCredits = async (key: string): Promise<unknown> => {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${service.apiUrl}/account`, { headers })).json();
};

test.each([
  ['version 1', connectV1],
  ['version 2', connect],
])('a tool call of the official client of %s is paid on the chain', async (_, connectTo) => {
  const client = await connectTo(service.gatewayUrl);
  const _meta = { 'x402/payment': await pay(client) };
  const paid = await client.callTool({ ...SEARCH, _meta });
  expect(paid).toMatchObject({
    structuredContent: FOUND,
    _meta: {
      'x402/payment-response': {
        success: true,
        network: `eip155:${service.dev.chainId}`,
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        amount: '50',
      },
    },
  });
  await client.close();
});

test('one payment is one search and one transfer, over the tool protocol and over HTTP', async () => {
  const before = (await transfersToPayee(service)).length;
  const client = await connect(service.gatewayUrl);
  const payment = await pay(client);
  const header = Buffer.from(JSON.stringify(payment)).toString('base64');
  const [tool, http, again] = await Promise.all([
    client.callTool({ ...SEARCH, _meta: { 'x402/payment': payment } }),
    service.search(SEARCH.arguments, { 'payment-signature': header }),
    client.callTool({ ...SEARCH, _meta: { 'x402/payment': payment } }),
  ]);
  expect(http.status).toBe(200);
  const answer: unknown = await http.json();
  expect(tool.structuredContent).toEqual(answer);
  expect(again.structuredContent).toEqual(answer);
  expect((await transfersToPayee(service)).length - before).toBe(1);

  const other = { name: 'search', arguments: { query: 'tide tables' } };
  const bound = await client.callTool({ ...other, _meta: { 'x402/payment': payment } });
  expect(bound).toMatchObject({
    isError: true,
    structuredContent: { error: 'authorization_bound_to_other_request' },
  });
  await client.close();
});

test('a key pays with one credit, and counts as the account’s usage', async () => {
  const { apiKey } = service.dev;
  const before = await availableCredits(apiKey);
  const client = await connect(service.apiUrl, apiKey);
  expect(await client.callTool(SEARCH)).toMatchObject({ structuredContent: FOUND });
  const after = await availableCredits(apiKey);
  expect(creditsOf(after)).toBe(creditsOf(before) - 1);
  await client.close();
});

function creditsOf(account: unknown): number {
  return (account as { credits: { available: number } }).credits.available;
}

test('a person signs up, signs in from a client, and the account they chose is charged', async () => {
  const person = browser(publicUrl);
  const { visit, post, answer } = person;
  await signUp(publicUrl, person);
  await post('/console/sign-out', {});

  const resource = `${service.apiUrl}/mcp`;
  const unauthorized = await fetch(resource, { method: 'POST' });
  const described = /resource_metadata="([^"]+)"/.exec(
    unauthorized.headers.get('www-authenticate') ?? '',
  )?.[1];
  const metadata: unknown = await (await fetch(described ?? '')).json();
  expect(metadata).toMatchObject({ resource, authorization_servers: [publicUrl] });

  const redirect_uri = 'http://127.0.0.1:9/callback';
  const registered = await fetch(`${publicUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Editor', redirect_uris: [redirect_uri] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const url = new URL(`${publicUrl}/oauth/authorize`);
  const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
  const params = { client_id, redirect_uri, resource, response_type: 'code', code_challenge };
  for (const [name, value] of Object.entries({ ...params, code_challenge_method: 'S256' })) {
    url.searchParams.set(name, value);
  }
  const signIn = await visit(url.href);
  const to = new URL(signIn.url).searchParams.get('to') ?? '';
  expect(to).toMatch(/^\/console\/connect\//);
  const consent = await post('/console/sign-in', {
    email: PERSON.email,
    password: PERSON.password,
    to,
  });
  expect(consent.text).toContain('Connect Editor?');
  const done = new URL((await answer(consent, 'allow')).url);
  const exchanged = await fetch(`${publicUrl}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: done.searchParams.get('code') ?? '',
      code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      ...{ client_id, redirect_uri },
    }),
  });
  const tokens = (await exchanged.json()) as { access_token: string };

  const client = await connect(service.apiUrl, tokens.access_token);
  expect(await client.callTool(SEARCH)).toMatchObject({ structuredContent: FOUND });
  await client.close();
  const ready = await visit(`${publicUrl}/console/connect`);
  expect(ready.text).toContain(`claude mcp add --transport http search402 http://localhost:`);
  const billing = await visit(`${publicUrl}/console/billing`);
  expect(billing.text).toContain('999');

  const elsewhere = { authorization: `Bearer ${tokens.access_token}` };
  expect((await service.search(SEARCH.arguments, elsewhere)).status).toBe(401);
});

test('the self-test finds every way in working, and a wrong key broken', async () => {
  const { apiKey, payerPrivateKey } = service.dev;
  const options = {
    gatewayUrl: `${service.gatewayUrl}/mcp`,
    apiUrl: `${service.apiUrl}/mcp`,
    privateKey: payerPrivateKey as `0x${string}`,
  };
  const findings = await checkWaysIn({ ...options, apiKey });
  expect(findings.map(({ verdict }) => verdict)).toEqual(['works', 'works', 'works', 'works']);
  const wrong = await checkWaysIn({ ...options, apiKey: `${apiKey}x`, privateKey: undefined });
  expect(wrong.map(({ verdict }) => verdict)).toEqual(['works', 'not tried', 'broken', 'works']);
});

describe('over stdio', () => {
  const store = join(tmpdir(), `search402-stdio-${process.pid}.jsonl`);
  afterAll(() => rm(store, { force: true }));

  async function spawn(env: Record<string, string>): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    const program = join(import.meta.dirname, '../../../commands/mcp-stdio.js');
    const base = { SEARCH402_BASE_URL: service.gatewayUrl, SEARCH402_STORE: store };
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [program],
        env: { ...base, ...env },
        stderr: 'ignore',
      }),
    );
    return client;
  }

  test('a key pays, and refusals are those of HTTP', async () => {
    const client = await spawn({ SEARCH402_API_KEY: service.dev.apiKey });
    expect(await client.callTool(SEARCH)).toMatchObject({ structuredContent: FOUND });
    const wrong = await client.callTool({ name: 'search', arguments: { prompt: 'bread' } });
    expect(wrong).toMatchObject({
      isError: true,
      structuredContent: { status: 422, code: 'unsupported_parameter' },
    });
    await client.close();
  });

  test('a wallet pays within its caps and not beyond', async () => {
    const before = (await transfersToPayee(service)).length;
    const wallet = { SEARCH402_PRIVATE_KEY: service.dev.payerPrivateKey };
    const client = await spawn({ ...wallet, SEARCH402_MAX_TOTAL: '0.00005' });
    expect(await client.callTool(SEARCH)).toMatchObject({
      structuredContent: FOUND,
      _meta: { 'x402/payment-response': { success: true } },
    });
    const arguments_ = { query: 'tide tables' };
    const beyond = await client.callTool({ name: 'search', arguments: arguments_ });
    expect(beyond).toMatchObject({ isError: true });
    expect(JSON.stringify(beyond)).toMatch(/cap|maxTotal|most/);
    expect((await transfersToPayee(service)).length - before).toBe(1);
    await client.close();
  });

  test('a configuration that cannot work is one sentence and no start', async () => {
    const both = { SEARCH402_PRIVATE_KEY: service.dev.payerPrivateKey, SEARCH402_API_KEY: 'x' };
    await expect(spawn(both)).rejects.toThrow();
  });
});
