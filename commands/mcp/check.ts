import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { x402Client } from '@x402/core/client';
import type { PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';
import { z } from 'zod';

/** What is tried, and with what. */
export interface CheckOptions {
  /** The gateway's `/mcp`: open listing, payment per call. */
  readonly gatewayUrl: string;
  /** The API's `/mcp`: keys and sign-in. */
  readonly apiUrl: string;
  readonly apiKey: string | undefined;
  readonly privateKey: `0x${string}` | undefined;
}

export interface Finding {
  readonly way: string;
  readonly verdict: 'works' | 'broken' | 'not tried';
  readonly detail: string;
}

const QUERY = { name: 'search', arguments: { query: 'web search', maxResults: 1 } };
/** The most that the check signs away, in atomic USDC: one cent. */
const PAYMENT_UNITS_MAX = 10_000n;

/** Connects by each way in, as clients do, and says what happened. */
export async function checkWaysIn(options: CheckOptions): Promise<readonly Finding[]> {
  const { gatewayUrl, apiUrl, apiKey, privateKey } = options;
  return [
    await attempt('Listing without credentials', () => checkListing(gatewayUrl)),
    privateKey === undefined
      ? notTried('Payment for a call', 'no wallet was given (--wallet-env)')
      : await attempt('Payment for a call', () => checkPayment(gatewayUrl, privateKey)),
    apiKey === undefined
      ? notTried('API key', 'no key was given (--key-env)')
      : await attempt('API key', () => checkKey(apiUrl, apiKey)),
    await attempt('Sign-in in a browser', () => checkSignIn(apiUrl)),
  ];
}

function notTried(way: string, detail: string): Finding {
  return { way, verdict: 'not tried', detail };
}

async function attempt(way: string, check: () => Promise<string>): Promise<Finding> {
  try {
    return { way, verdict: 'works', detail: await check() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const detail = cause instanceof Error ? cause.message : String(cause);
    return { way, verdict: 'broken', detail };
  }
}

async function withClient<T>(
  url: string,
  headers: Record<string, string>,
  use: (client: Client) => Promise<T>,
): Promise<T> {
  const versionNegotiation = { mode: 'auto' } as const;
  const client = new Client({ name: 'search402-check', version: '1' }, { versionNegotiation });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

async function checkListing(url: string): Promise<string> {
  const { tools } = await withClient(url, {}, (client) => client.listTools());
  return `${url} offers ${tools.map(({ name }) => name).join(', ')}`;
}

async function checkPayment(url: string, privateKey: `0x${string}`): Promise<string> {
  return withClient(url, {}, async (client) => {
    const required = (await client.callTool(QUERY)).structuredContent as PaymentRequired;
    const [terms] = required.accepts;
    if (!terms) throw new Error('the service asks for no payment that can be made');
    if (BigInt(terms.amount) > PAYMENT_UNITS_MAX) throw new Error('it asks for more than a cent');
    const scheme = new ExactEvmScheme(privateKeyToAccount(privateKey));
    const payer = new x402Client().register(terms.network, scheme);
    const payment = await payer.createPaymentPayload(required);
    const paid = await client.callTool({ ...QUERY, _meta: { 'x402/payment': payment } });
    if (paid.isError === true) throw new Error(firstText(paid.content));
    const { transaction } = receiptSchema.parse(paid._meta?.['x402/payment-response']);
    return `paid ${terms.amount} atomic USDC in ${transaction}`;
  });
}

const receiptSchema = z.object({ transaction: z.string() });

async function checkKey(url: string, apiKey: string): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const result = await withClient(url, headers, (client) => client.callTool(QUERY));
  if (result.isError === true) throw new Error(firstText(result.content));
  return `searched at ${url} for one credit`;
}

function firstText(content: readonly { type: string }[]): string {
  const [first] = content;
  return first && 'text' in first ? String(first.text) : 'it failed and did not say why';
}

const resourceSchema = z.object({ resource: z.url(), authorization_servers: z.tuple([z.url()]) });
const serverSchema = z.object({ issuer: z.url(), authorization_endpoint: z.url() });

/** Follows what a client follows until a person is needed: 401, resource, authorization server. */
async function checkSignIn(url: string): Promise<string> {
  const refused = await fetch(url, { method: 'POST' });
  const challenge = refused.headers.get('www-authenticate') ?? '';
  const described = /resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  if (refused.status !== 401 || described === undefined) {
    throw new Error(`a request without a key got ${refused.status} and no resource metadata`);
  }
  const resource = resourceSchema.parse(await (await fetch(described)).json());
  if (resource.resource !== url) {
    throw new Error(`it calls itself ${resource.resource}: set API_PUBLIC_URL to its address`);
  }
  const [issuer] = resource.authorization_servers;
  const metadata = await fetch(new URL('/.well-known/oauth-authorization-server', issuer));
  const server = serverSchema.parse(await metadata.json());
  if (server.issuer !== issuer) throw new Error(`${issuer} calls itself ${server.issuer}`);
  return `clients are sent to ${server.authorization_endpoint}`;
}
