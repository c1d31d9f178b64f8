import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from '@modelcontextprotocol/client';
import type { Kysely } from 'kysely';
import type { OauthTables } from '../../gateway/oauth/schema.js';
import { unixMillis } from '../../gateway/domain/units.js';
import { sweepRecords } from '../../gateway/oauth/records.js';
import { tokenAuthenticator } from '../../gateway/oauth/tokens.js';
import { realClock } from '../support/ports.js';
import { browser, startOauth, type OauthUnderTest } from '../support/oauth.js';

let service: OauthUnderTest;
beforeEach(async () => {
  service = await startOauth();
});
afterEach(async () => {
  await service.close();
});

type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>;
type ClientInformation = NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>;

/** A desktop client's own part of signing in, with the browser that it opens. */
class Desktop implements OAuthClientProvider {
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

async function signIn(desktop: Desktop): Promise<Client> {
  const url = new URL(service.url);
  const first = new StreamableHTTPClientTransport(url, { authProvider: desktop });
  const probe = new Client({ name: 'test', version: '1' });
  await expect(probe.connect(first)).rejects.toThrow(UnauthorizedError);
  const { visit, answer } = browser(service.origin);
  const asked = await visit(desktop.opened?.href ?? '');
  expect(asked.text).toContain('Connect Desktop?');
  const done = new URL((await answer(asked.url, 'allow')).url);
  await first.finishAuth(done.searchParams);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: desktop }));
  return client;
}

const SEARCH = { name: 'search', arguments: { query: 'fox' } };

test('a client signs in by itself: 401, metadata, registration, consent, token, search', async () => {
  const desktop = new Desktop();
  const client = await signIn(desktop);
  expect(await client.callTool(SEARCH)).toMatchObject({
    structuredContent: { result: { totalResults: 1 } },
  });
  expect(desktop.saved.tokens).toMatchObject({
    token_type: 'Bearer',
    scope: expect.stringContaining('search'),
    refresh_token: expect.any(String),
  });
  await client.close();
});

test('a client with a scheme of its own comes back to it', async () => {
  const desktop = new Desktop();
  desktop.redirectUrl = 'cursor://anysphere.cursor-mcp/oauth/callback';
  const client = await signIn(desktop);
  expect(await client.callTool(SEARCH)).toMatchObject({ structuredContent: {} });
  await client.close();
});

/** One authorization by hand, for what a good client never sends. */
async function authorize(changes: Record<string, string | undefined> = {}, decision = 'allow') {
  const registered = await fetch(`${service.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'By hand',
      redirect_uris: ['http://127.0.0.1:1/callback'],
    }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const url = new URL(`${service.origin}/oauth/authorize`);
  const params: Record<string, string | undefined> = {
    client_id,
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:1/callback',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    resource: service.url,
    scope: 'search',
    state: 'xyz',
    ...changes,
  };
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const { visit, answer } = browser(service.origin);
  const asked = await visit(url.href);
  if (!asked.url.includes('/console/connect/')) return { client_id, end: asked };
  const end = await answer(asked.url, decision as 'allow');
  return { client_id, end };
}

const exchange = (form: Record<string, string>) =>
  fetch(`${service.origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });

async function tokensFor(changes: Record<string, string | undefined> = {}) {
  const { client_id, end } = await authorize(changes);
  const code = new URL(end.url).searchParams.get('code') ?? '';
  const form = {
    grant_type: 'authorization_code',
    client_id,
    code,
    redirect_uri: 'http://127.0.0.1:1/callback',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  };
  const response = await exchange(form);
  const tokens = (await response.json()) as { access_token: string; refresh_token: string };
  return { client_id, form, tokens, status: response.status };
}

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

test('the metadata name what a client needs, at the issuer’s address', async () => {
  const { origin } = service;
  const resource = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`);
  expect(await resource.json()).toMatchObject({
    resource: `${origin}/mcp`,
    authorization_servers: [origin],
  });
  const server = await fetch(`${origin}/.well-known/oauth-authorization-server`, {
    headers: { 'x-forwarded-host': 'evil.example' },
  });
  expect(await server.json()).toMatchObject({
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    revocation_endpoint: `${origin}/oauth/revoke`,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
});

describe('the person decides', () => {
  test('and the answer carries the state and the issuer', async () => {
    const { end } = await authorize();
    const answer = new URL(end.url).searchParams;
    expect(answer.get('code')).toBeTruthy();
    expect(answer.get('state')).toBe('xyz');
    expect(answer.get('iss')).toBe(service.origin);
  });

  test('a no ends it', async () => {
    const { end } = await authorize({}, 'deny');
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied');
  });

  test('who is not signed in is sent to do that and comes back', async () => {
    service.signedIn = false;
    const { end } = await authorize();
    expect(end.url).toMatch(/\/console\/sign-in\?next=%2Fconsole%2Fconnect%2F/);
  });

  test('an account of others cannot be chosen', async () => {
    const { visit, answer } = browser(service.origin);
    const { client_id } = await authorize();
    const url = new URL(`${service.origin}/oauth/authorize`);
    const redirect_uri = 'http://127.0.0.1:1/callback';
    const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const params = { client_id, redirect_uri, response_type: 'code', code_challenge };
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
    url.searchParams.set('code_challenge_method', 'S256');
    const asked = await visit(url.href);
    const end = await answer(asked.url, 'allow', 'another');
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied');
  });

  test('a form from another site is refused', async () => {
    const response = await fetch(`${service.origin}/console/connect/x`, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: new URLSearchParams({ decision: 'allow', account: 'a1' }),
    });
    expect(response.status).toBe(403);
  });
});

describe('refused before anybody is asked', () => {
  test.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['an implicit token', { response_type: 'token' }, 'unsupported_response_type'],
  ])('%s', async (_name, changes: Record<string, string | undefined>, error) => {
    const { end } = await authorize(changes);
    expect(end.url).toMatch(new RegExp(`^http://127.0.0.1:1/callback[?#]error=${error}&`));
  });

  test('a redirect to elsewhere gets a page and no redirect', async () => {
    const { end } = await authorize({ redirect_uri: 'https://evil.example/callback' });
    expect(end).toMatchObject({ status: 400, text: expect.stringContaining('did not work') });
  });
});

describe('a token', () => {
  test('is good without a resource parameter too, for the one address', async () => {
    const { tokens } = await tokensFor({ resource: undefined, scope: undefined });
    expect((await list(tokens.access_token)).status).toBe(200);
  });

  test('is refused where it was not issued for', async () => {
    const { tokens } = await tokensFor();
    const found = await service.provider.AccessToken.find(tokens.access_token);
    expect(found?.aud).toBe(service.url);
    const { store, provider } = service;
    const isMember = () => Promise.resolve(true);
    const check = tokenAuthenticator({ store, provider, clock: realClock, isMember });
    expect(await check(tokens.access_token, service.url)).toMatchObject({ account: { id: 'a1' } });
    expect(await check(tokens.access_token, 'https://other.example/mcp')).toMatchObject({
      code: 'invalid_api_key',
    });
  });

  test('is not stored as it is', async () => {
    const { tokens } = await tokensFor();
    const rows = await service.store.read((db: Kysely<OauthTables>) =>
      db.selectFrom('oauth_records').select(['id', 'payload']).execute(),
    );
    const everything = JSON.stringify(rows);
    expect(everything).not.toContain(tokens.access_token);
    expect(everything).not.toContain(tokens.refresh_token);
  });

  test('ends with the membership of its person and with the suspension of its account', async () => {
    const [one, two] = [await tokensFor(), await tokensFor()];
    service.member = false;
    expect((await list(one.tokens.access_token)).status).toBe(401);
    service.member = true;
    await service.suspend();
    expect((await list(two.tokens.access_token)).status).toBe(403);
  });

  test('rotates, and a refresh token that is used twice ends everything', async () => {
    const { client_id, tokens } = await tokensFor();
    const form = { grant_type: 'refresh_token', client_id, refresh_token: tokens.refresh_token };
    const first = await exchange(form);
    expect(first.status).toBe(200);
    const renewed = (await first.json()) as { access_token: string; refresh_token: string };
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
    expect((await list(renewed.access_token)).status).toBe(200);
    const again = await exchange(form);
    expect(await again.json()).toMatchObject({ error: 'invalid_grant' });
    const after = await exchange({ ...form, refresh_token: renewed.refresh_token });
    expect(after.status).toBe(400);
  });

  test('is refused once it was revoked', async () => {
    const { client_id, tokens } = await tokensFor();
    const revoked = await fetch(`${service.origin}/oauth/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ client_id, token: tokens.refresh_token }),
    });
    expect(revoked.status).toBe(200);
    expect((await list(tokens.access_token)).status).toBe(401);
  });
});

test('a code is exchanged once, however many try at once', async () => {
  const { client_id, end } = await authorize();
  const form = {
    grant_type: 'authorization_code',
    client_id,
    code: new URL(end.url).searchParams.get('code') ?? '',
    redirect_uri: 'http://127.0.0.1:1/callback',
    code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  };
  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(form)));
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
});

test('the wrong verifier gets no token', async () => {
  const { client_id, end } = await authorize();
  const response = await exchange({
    grant_type: 'authorization_code',
    client_id,
    code: new URL(end.url).searchParams.get('code') ?? '',
    redirect_uri: 'http://127.0.0.1:1/callback',
    code_verifier: 'a'.repeat(43),
  });
  expect(await response.json()).toMatchObject({ error: 'invalid_grant' });
});

test('what has lapsed and clients that nobody connected are forgotten, others stay', async () => {
  const { client_id: used } = await tokensFor();
  const { client_id: unused } = await authorize({}, 'deny');
  const later = { ...realClock, now: () => unixMillis(Date.now() + 25 * 3_600_000) };
  await sweepRecords(service.store, later);
  const ids = await service.store.read((db: Kysely<OauthTables>) =>
    db.selectFrom('oauth_records').select(['model', 'id']).execute(),
  );
  const clients = ids.filter(({ model }) => model === 'Client').map(({ id }) => id);
  expect(clients).toContain(used);
  expect(clients).not.toContain(unused);
  const models = new Set(ids.map(({ model }) => model));
  expect([...models].sort()).toEqual(['Client', 'Grant', 'RefreshToken', 'Secrets']);
});
