/**
 * What a web shop would bundle: the official clients of x402 and of the tool protocol. Runs in a page
 * of another origin; the tests call it through `window.clients`.
 */
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { wrapAxiosWithPayment, x402Client as AxiosPayer } from '@x402/axios';
import { ExactEvmScheme } from '@x402/evm';
import { ExactEvmSchemeV1 } from '@x402/evm/v1';
import { wrapFetchWithPayment, x402Client as FetchPayer } from '@x402/fetch';
import axios from 'axios';
import { privateKeyToAccount } from 'viem/accounts';

/** What a test is told of a paid search. */
export interface Paid {
  readonly status: number;
  readonly url: string | undefined;
  /** base64 of the receipt; null where the page may not read it. */
  readonly receipt: string | null;
}

interface Found {
  readonly result: { readonly results: readonly { readonly url: string }[] };
}

const body = (query: string) => JSON.stringify({ query });
const headers = { 'content-type': 'application/json' };

async function paid(response: Response): Promise<Paid> {
  const found = (await response.json()) as Partial<Found>;
  const receipt =
    response.headers.get('payment-response') ?? response.headers.get('x-payment-response');
  return { status: response.status, url: found.result?.results[0]?.url, receipt };
}

const payers = {
  async fetchV2(base: string, key: `0x${string}`, query: string): Promise<Paid> {
    const scheme = new ExactEvmScheme(privateKeyToAccount(key));
    const pay = wrapFetchWithPayment(fetch, new FetchPayer().register('eip155:8453', scheme));
    return paid(await pay(`${base}/search`, { method: 'POST', headers, body: body(query) }));
  },

  async fetchV1(base: string, key: `0x${string}`, query: string): Promise<Paid> {
    const scheme = new ExactEvmSchemeV1(privateKeyToAccount(key));
    // A client of version 1 does not know the header of version 2.
    const withoutHeader: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (response.status !== 402) return response;
      return new Response(await response.text(), { status: 402 });
    };
    const client = new FetchPayer().registerV1('base', scheme);
    const pay = wrapFetchWithPayment(withoutHeader, client);
    return paid(await pay(`${base}/search`, { method: 'POST', headers, body: body(query) }));
  },

  async axiosV2(base: string, key: `0x${string}`, query: string): Promise<Paid> {
    const scheme = new ExactEvmScheme(privateKeyToAccount(key));
    const client = new AxiosPayer().register('eip155:8453', scheme);
    const pay = wrapAxiosWithPayment(axios.create(), client);
    const response = await pay.post<Found>(`${base}/search`, { query });
    const receipt: unknown = response.headers['payment-response'];
    return {
      status: response.status,
      url: response.data.result.results[0]?.url,
      receipt: typeof receipt === 'string' ? receipt : null,
    };
  },
};

/** Searches with a key over the tool protocol; the text of the result. */
const tools = {
  async v2(url: string, key: string): Promise<string> {
    const client = new Client(
      { name: 'page', version: '1' },
      { versionNegotiation: { mode: 'auto' } },
    );
    const requestInit = { headers: { authorization: `Bearer ${key}`, traceparent: TRACE } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return JSON.stringify(await client.callTool(SEARCH));
  },
  async v1(url: string, key: string): Promise<string> {
    const client = new ClientV1({ name: 'page', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${key}`, traceparent: TRACE } };
    await client.connect(new TransportV1(new URL(url), { requestInit }));
    return JSON.stringify(await client.callTool(SEARCH));
  },
};

const SEARCH = { name: 'search', arguments: { query: 'sourdough bread' } };
/** As the W3C's trace context has it. */
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

/** Begins to sign in as a client without a key does; where the person is sent. */
async function signIn(
  url: string,
  redirectUrl: string,
): Promise<{ readonly sentTo: string; readonly clientId: string }> {
  const seen = { sentTo: '', clientId: '', verifier: '' };
  const authProvider = {
    redirectUrl,
    clientMetadata: { client_name: 'A page', redirect_uris: [redirectUrl] },
    clientInformation: () => (seen.clientId === '' ? undefined : { client_id: seen.clientId }),
    saveClientInformation: ({ client_id }: { client_id: string }) => {
      seen.clientId = client_id;
    },
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization: (address: URL) => {
      seen.sentTo = address.href;
    },
    saveCodeVerifier: (verifier: string) => {
      seen.verifier = verifier;
    },
    codeVerifier: () => seen.verifier,
  };
  const client = new Client({ name: 'page', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport).catch((error: unknown) => {
    if (!(error instanceof UnauthorizedError)) throw error;
  });
  return { sentTo: seen.sentTo, clientId: seen.clientId };
}

/** One search with these request headers; its status. */
async function withHeaders(base: string, more: Record<string, string>): Promise<number> {
  const init = { method: 'POST', headers: { ...headers, ...more }, body: body('bread') };
  return (await fetch(`${base}/search`, init)).status;
}

/** A page may read this reply, and this header of it. */
async function readable(
  url: string,
  sent: Record<string, string>,
  name: string,
): Promise<string | null> {
  return (await fetch(url, { headers: sent })).headers.get(name);
}

export const clients = { payers, tools, signIn, withHeaders, readable };
Object.assign(globalThis, { clients });
