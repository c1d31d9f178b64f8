/** What clients register and ask for, by habit or by mistake. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { byHand } from '../../support/oauth-client.js';
import { startOauth, type OauthUnderTest } from '../../support/oauth.js';

let service: OauthUnderTest;
let hand: ReturnType<typeof byHand>;
beforeAll(async () => {
  service = await startOauth();
  hand = byHand(service);
});
afterAll(() => service.close());

test.each([
  ['a scheme of its own', 'cursor://anysphere.cursor-mcp/oauth/callback', undefined],
  ['a page of its own', 'https://client.example/callback', undefined],
  ['any port of its machine', 'http://localhost/callback', 'http://localhost:53682/callback'],
  ['any port by number', 'http://127.0.0.1:33418/', 'http://127.0.0.1:60005/'],
  ['any port of version 6', 'http://[::1]/callback', 'http://[::1]:60005/callback'],
])('a client comes back to %s, without saying what kind it is', async (_name, given, used) => {
  const { client_id } = await hand.register({ redirect_uris: [given] });
  const redirect_uri = used ?? given;
  const { end } = await hand.authorize({ client_id, redirect_uri });
  expect(end.url.startsWith(`${redirect_uri}?`)).toBe(true);
  expect(new URL(end.url).searchParams.get('code')).toBeTruthy();
});

test.each([
  ['another path of its machine', 'http://localhost/callback', 'http://localhost:1/other'],
  ['another name of its machine', 'http://localhost/callback', 'http://127.0.0.1:1/callback'],
  ['another port of its page', 'https://client.example/a', 'https://client.example:444/a'],
])('a client does not come back to %s', async (_name, given, redirect_uri) => {
  const { client_id } = await hand.register({ redirect_uris: [given] });
  const { end } = await hand.authorize({ client_id, redirect_uri });
  expect(end).toMatchObject({ status: 400, text: expect.stringContaining('Connection failed') });
});

test.each(['http://client.example/callback', 'javascript:alert(1)', 'data:text/html,x'])(
  'a client cannot be registered for %s',
  async (redirect) => {
    expect(await hand.register({ redirect_uris: [redirect] })).toMatchObject({
      error: 'invalid_redirect_uri',
    });
  },
);

test.each(['', 'openid', 'search offline_access openid', 'offline_access', 'mcp:tools x'])(
  'a client that asks for the scope "%s" gets the one that there is',
  async (scope) => {
    const registered = await hand.register(scope === '' ? {} : { scope });
    const { client_id } = registered;
    expect(registered).not.toHaveProperty('client_secret');
    expect(registered).toMatchObject({ token_endpoint_auth_method: 'none' });
    const { tokens } = await hand.tokensFor({ client_id, scope });
    expect(tokens).toMatchObject({ scope: 'search', refresh_token: expect.any(String) });
    expect((await hand.list(tokens.access_token)).status).toBe(200);
  },
);

test.each([
  [['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']],
  [['client_credentials', 'authorization_code', 'refresh_token', 'implicit']],
  [['urn:ietf:params:oauth:grant-type:jwt-bearer']],
  [[]],
])('a client that lists the grant types %j is registered for those there are', async (listed) => {
  const registered = await hand.register({ grant_types: listed });
  expect(registered).toMatchObject({ grant_types: ['authorization_code', 'refresh_token'] });
  const { tokens } = await hand.tokensFor({ client_id: registered.client_id });
  expect(tokens).toMatchObject({ refresh_token: expect.any(String) });
});

test.each([5, 'authorization_code', [5]])(
  'grant types that are %j are refused',
  async (grant_types) => {
    expect(await hand.register({ grant_types })).toMatchObject({
      error: 'invalid_client_metadata',
    });
  },
);

test.each(['[]', 'null', '5', '"x"', '{', '', '{"redirect_uris":5}', '{"redirect_uris":[null]}'])(
  'a registration that is %j is refused',
  async (body) => {
    const response = await fetch(`${service.origin}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: expect.stringMatching(/^invalid_/) });
  },
);

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
    token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
  });
});

describe('refused before anybody is asked', () => {
  test.each([
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['an implicit token', { response_type: 'token' }, 'unsupported_response_type'],
  ])('%s', async (_name, changes: Record<string, string | undefined>, error) => {
    const { end } = await hand.authorize(changes);
    expect(end.url).toMatch(new RegExp(`^http://127.0.0.1:1/callback[?#]error=${error}&`));
  });

  test('a redirect to elsewhere gets a page and no redirect', async () => {
    const { end } = await hand.authorize({ redirect_uri: 'https://evil.example/callback' });
    expect(end).toMatchObject({ status: 400, text: expect.stringContaining('Connection failed') });
  });
});
