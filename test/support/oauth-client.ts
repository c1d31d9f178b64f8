import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { browser, type OauthUnderTest } from './oauth.js';

/** Where a client signs in. */
export type SignInPlace = Pick<OauthUnderTest, 'url' | 'origin'>;

type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>;
type ClientInformation = NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>;

/** A desktop client's own part of signing in, with the browser that it opens. */
export class Desktop implements OAuthClientProvider {
  redirectUrl = 'http://127.0.0.1:53682/callback';
  opened: URL | undefined;
  saved: {
    tokens?: Tokens;
    client?: ClientInformation;
    verifier?: string;
    discovery?: OAuthDiscoveryState;
  } = {};
  get clientMetadata() {
    return { client_name: 'Desktop', redirect_uris: [this.redirectUrl] };
  }
  clientInformation = () => this.saved.client;
  saveClientInformation = (client: ClientInformation) => void (this.saved.client = client);
  tokens = () => this.saved.tokens;
  saveTokens = (tokens: Tokens) => void (this.saved.tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.opened = url);
  saveCodeVerifier = (verifier: string) => void (this.saved.verifier = verifier);
  saveDiscoveryState = (state: OAuthDiscoveryState) => void (this.saved.discovery = state);
  discoveryState = () => this.saved.discovery;
  codeVerifier = () => this.saved.verifier ?? '';
}

/** What a client does until its person has consented; returns the client's part of the answer. */
export async function consentOf(
  { origin }: SignInPlace,
  opened: URL | undefined,
): Promise<URLSearchParams> {
  const { visit, answer } = browser(origin);
  const asked = await visit(opened?.href ?? '');
  if (!asked.text.includes('Connect Desktop?')) throw new Error(asked.text);
  return new URL((await answer(asked, 'allow')).url).searchParams;
}

const IDENTITY = { name: 'test', version: '1' };

/** The official client of version 2, signed in through `desktop`. */
export async function signIn(service: SignInPlace, desktop: Desktop): Promise<Client> {
  const url = new URL(service.url);
  const first = new StreamableHTTPClientTransport(url, { authProvider: desktop });
  const probe = new Client(IDENTITY);
  const refused: unknown = await probe.connect(first).catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedError)) throw new Error('it did not have to sign in');
  await first.finishAuth(await consentOf(service, desktop.opened));
  const client = new Client(IDENTITY);
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: desktop }));
  return client;
}

/** The official client of version 1, in the same way. */
export async function signInV1(service: SignInPlace, desktop: Desktop): Promise<ClientV1> {
  const url = new URL(service.url);
  const first = new TransportV1(url, { authProvider: desktop });
  const refused: unknown = await new ClientV1(IDENTITY)
    .connect(first)
    .catch((error: unknown) => error);
  if (!(refused instanceof UnauthorizedV1)) throw new Error('it did not have to sign in');
  await first.finishAuth((await consentOf(service, desktop.opened)).get('code') ?? '');
  const client = new ClientV1(IDENTITY);
  await client.connect(new TransportV1(url, { authProvider: desktop }));
  return client;
}

export const REDIRECT_URI = 'http://127.0.0.1:1/callback';
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';

type Changes = Readonly<Record<string, string | undefined>>;

/** The steps of a sign-in by hand, for what a good client never sends; in a browser of its own. */
export function byHand(service: SignInPlace, person?: ReturnType<typeof browser>) {
  const register = async (changes: object = {}) => {
    const client = { client_name: 'By hand', redirect_uris: [REDIRECT_URI], ...changes };
    const registered = await fetch(`${service.origin}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(client),
    });
    return (await registered.json()) as { client_id: string };
  };

  const authorize = async (
    changes: Changes = {},
    decision: 'allow' | 'deny' = 'allow',
    account?: string,
  ) => {
    const client_id = changes.client_id ?? (await register()).client_id;
    const url = new URL(`${service.origin}/oauth/authorize`);
    const params: Changes = {
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      resource: service.url,
      scope: 'search',
      state: 'xyz',
      ...changes,
      client_id,
    };
    for (const [name, value] of Object.entries(params)) {
      if (value !== undefined) url.searchParams.set(name, value);
    }
    const { visit, answer } = person ?? browser(service.origin);
    const asked = await visit(url.href);
    if (!asked.url.includes('/console/connect/')) return { client_id, asked, end: asked };
    const end = await answer(asked, decision, account);
    return { client_id, asked, end };
  };

  const exchange = (form: Record<string, string>) =>
    fetch(`${service.origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });

  const formFor = (client_id: string, end: { url: string }) => ({
    grant_type: 'authorization_code',
    client_id,
    code: new URL(end.url).searchParams.get('code') ?? '',
    redirect_uri: REDIRECT_URI,
    code_verifier: VERIFIER,
  });

  const tokensFor = async (changes: Changes = {}) => {
    const { client_id, end } = await authorize(changes);
    const response = await exchange(formFor(client_id, end));
    const tokens = (await response.json()) as { access_token: string; refresh_token: string };
    return { client_id, tokens };
  };

  const list = (token: string) =>
    fetch(service.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    });

  return { register, authorize, exchange, formFor, tokensFor, list };
}
