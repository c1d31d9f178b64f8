/**
 * Signs this page in as an application would (OAuth 2.1): from the 401 to the token, one search, and
 * the token's end. In between the browser leaves the page for the consent, and comes back to it.
 */
import { CheckProblem, type Step, type Steps } from './check-steps.js';
import { callSearch, listTools } from './tool-client.js';

/** What is kept while the browser is away, for this tab only. */
interface Pending {
  readonly url: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly state: string;
  readonly server: ServerMetadata;
  readonly steps: readonly Step[];
}

/** RFC 8414. */
interface ServerMetadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
  readonly revocation_endpoint: string;
}

const PENDING = 'search402-sign-in-check';

/** Follows what a client follows, and leaves for the consent. */
export async function startSignIn(url: string, steps: Steps): Promise<void> {
  if (!('subtle' in crypto)) {
    throw new CheckProblem('Browsers can sign in only over HTTPS or on localhost.');
  }
  const server = await discover(url, steps);
  const redirectUri = location.origin + location.pathname;
  const clientId = await register(server, redirectUri);
  steps.add(`Registered this page as a client: ${clientId}.`);
  const [verifier, state] = [randomText(), randomText()];
  const authorize = new URL(server.authorization_endpoint);
  const params = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
    scope: 'search',
    resource: url,
    state,
  };
  for (const [name, value] of Object.entries(params)) authorize.searchParams.set(name, value);
  steps.add('Sent you to the consent page.');
  const kept = { url, clientId, redirectUri, verifier, state, server, steps: steps.all };
  sessionStorage.setItem(PENDING, JSON.stringify(kept satisfies Pending));
  location.assign(authorize);
}

/** 401 → the resource's description (RFC 9728) → the authorization server's (RFC 8414). */
async function discover(url: string, steps: Steps): Promise<ServerMetadata> {
  const refused = await listTools(url);
  const described = /resource_metadata="([^"]+)"/.exec(refused.challenge ?? '')?.[1];
  if (refused.status !== 401 || described === undefined) {
    throw new CheckProblem(
      `Without credentials the server answered ${refused.status} instead of 401 with its metadata.`,
    );
  }
  steps.add(
    `Without credentials the server answered 401 with WWW-Authenticate: ${refused.challenge}`,
  );
  const resource = await read<{ resource: string; authorization_servers: string[] }>(described);
  const [issuer] = resource.authorization_servers;
  if (resource.resource !== url || issuer === undefined) {
    throw new CheckProblem(`${described} describes ${resource.resource} instead of ${url}.`);
  }
  steps.add(`Found the resource metadata. The authorization server is ${issuer}.`);
  const metadata = new URL('/.well-known/oauth-authorization-server', issuer);
  const server = await read<ServerMetadata>(metadata.href);
  if (server.issuer !== issuer)
    throw new CheckProblem(`${issuer} says its issuer is ${server.issuer}.`);
  steps.add('Found the authorization server’s metadata.');
  return server;
}

async function read<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new CheckProblem(`${url} answered ${response.status}.`);
  return (await response.json()) as T;
}

async function register(server: ServerMetadata, redirectUri: string): Promise<string> {
  const client = {
    client_name: 'Console connection test',
    application_type: 'web',
    redirect_uris: [redirectUri],
  };
  const response = await fetch(server.registration_endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(client),
  });
  const { client_id } = (await response.json()) as { client_id?: string };
  if (client_id === undefined) {
    throw new CheckProblem(`Registration answered ${response.status}.`);
  }
  return client_id;
}

/** Whether the address of this page is an answer to what `startSignIn` asked for. */
export function isBackFromSignIn(): boolean {
  const query = new URLSearchParams(location.search);
  return query.has('state') && (query.has('code') || query.has('error'));
}

/** Takes the answer, gets a token for it, searches once, and gives the token back. */
export async function finishSignIn(steps: Steps): Promise<void> {
  const query = new URLSearchParams(location.search);
  history.replaceState(null, '', location.pathname);
  const kept = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (kept === null) throw new CheckProblem('This tab didn’t start the test. Press the button.');
  const pending = JSON.parse(kept) as Pending;
  for (const { text, verdict } of pending.steps) steps.add(text, verdict);
  steps.list?.scrollIntoView({ block: 'center' });
  const error = query.get('error');
  if (error !== null) {
    throw new CheckProblem(`Sign-in failed with ${error}: ${query.get('error_description') ?? ''}`);
  }
  if (query.get('state') !== pending.state || query.get('iss') !== pending.server.issuer) {
    throw new CheckProblem('The response doesn’t belong to this test (wrong state or issuer).');
  }
  steps.add('You consented. State and issuer match.');
  const tokens = await exchange(pending, query.get('code') ?? '', steps);
  try {
    await useToken(pending.url, tokens.access, steps);
  } finally {
    await revoke(pending, tokens);
    steps.add('The token was revoked. Nothing stays connected.');
  }
}

async function useToken(url: string, token: string, steps: Steps): Promise<void> {
  const listed = await listTools(url, `Bearer ${token}`);
  const names = listed.result?.tools?.map(({ name }) => name) ?? [];
  if (names.length === 0)
    throw new CheckProblem(`The server lists no tools: ${listed.problem ?? ''}`);
  steps.add(`With the token the server lists its tool: ${names.join(', ')}.`);
  const { result } = await callSearch(url, `Bearer ${token}`);
  if (result?.structuredContent?.result === undefined) {
    throw new CheckProblem(`The search failed: ${result?.content?.[0]?.text ?? 'no answer'}`);
  }
  steps.add('Ran one search. It cost 1 credit of the account you chose.');
}

interface Tokens {
  readonly access: string;
  readonly refresh: string | undefined;
}

async function exchange(pending: Pending, code: string, steps: Steps): Promise<Tokens> {
  const response = await post(pending.server.token_endpoint, {
    grant_type: 'authorization_code',
    client_id: pending.clientId,
    redirect_uri: pending.redirectUri,
    code_verifier: pending.verifier,
    code,
  });
  const reply = (await response.json()) as {
    access_token?: string;
    refresh_token?: string;
    scope?: string;
    expires_in?: number;
    error_description?: string;
  };
  if (reply.access_token === undefined) {
    throw new CheckProblem(`It gave no token: ${reply.error_description ?? response.status}`);
  }
  steps.add(`Got a token for ${reply.scope ?? ''}, valid for ${reply.expires_in ?? 0} seconds.`);
  return { access: reply.access_token, refresh: reply.refresh_token };
}

/** RFC 7009: a refresh token takes with it whatever else came of the same consent. */
async function revoke({ server, clientId }: Pending, { refresh, access }: Tokens): Promise<void> {
  await post(server.revocation_endpoint, { client_id: clientId, token: refresh ?? access });
}

const post = (url: string, form: Record<string, string>) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(form) });

function randomText(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)));
}

/** PKCE (RFC 7636, 4.2). */
async function challengeOf(verifier: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return base64Url(new Uint8Array(hash));
}

function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
