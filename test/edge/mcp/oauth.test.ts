import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Kysely } from 'kysely';
import type { OauthTables } from '../../../gateway/edge/oauth/schema.js';
import { unixMillis } from '../../../gateway/ground/domain/units.js';
import { REFRESH_GRACE_MS, sweepRecords } from '../../../gateway/edge/oauth/records.js';
import { ENGINES, engineOf } from '../../support/engines.js';
import { GOOD_KEY } from '../../support/mcp.js';
import { byHand, Desktop, signIn, signInV1 } from '../../support/oauth-client.js';
import { PERSON, startOauth, type OauthUnderTest } from '../../support/oauth.js';
import { realClock } from '../../support/ports.js';

const SEARCH = { name: 'search', arguments: { query: 'fox' } };
const FOUND = { structuredContent: { result: { totalResults: 1 } } };

describe.each(ENGINES)('on %s', (name) => {
  const engine = engineOf(name);
  let service: OauthUnderTest;
  let hand: ReturnType<typeof byHand>;
  beforeAll(engine.start);
  afterAll(engine.stop);
  beforeEach(async () => {
    service = await startOauth({ location: engine.location() });
    hand = byHand(service);
  });
  afterEach(async () => {
    await service.close();
  });

  describe.each([
    ['2', signIn],
    ['1', signInV1],
  ] as const)('the official client of version %s', (_version, connect) => {
    test('signs in by itself: 401, metadata, registration, consent, token, search', async () => {
      const desktop = new Desktop();
      const client = await connect(service, desktop);
      expect(await client.callTool(SEARCH)).toMatchObject(FOUND);
      expect(desktop.saved.tokens).toMatchObject({
        token_type: 'Bearer',
        scope: expect.stringContaining('search'),
        refresh_token: expect.any(String),
      });
      await client.close();
    });

    test('renews its access by itself once that has lapsed, amid calls', async () => {
      const desktop = new Desktop();
      const client = await connect(service, desktop);
      const before = desktop.saved.tokens;
      await service.store.write(async (tx: Kysely<OauthTables>) => {
        await tx.deleteFrom('oauth_records').where('model', '=', 'AccessToken').execute();
      });
      service.tokens.forget();
      const calls = Array.from({ length: 5 }, () => client.callTool(SEARCH));
      for (const result of await Promise.all(calls)) expect(result).toMatchObject(FOUND);
      expect(desktop.saved.tokens?.access_token).not.toBe(before?.access_token);
      expect(desktop.saved.tokens?.refresh_token).not.toBe(before?.refresh_token);
      await client.close();
    });
  });

  describe('the person decides', () => {
    test('and the answer carries the state and the issuer', async () => {
      const { end } = await hand.authorize();
      const answer = new URL(end.url).searchParams;
      expect(answer.get('code')).toBeTruthy();
      expect(answer.get('state')).toBe('xyz');
      expect(answer.get('iss')).toBe(service.origin);
    });

    test('a no ends it', async () => {
      const { end } = await hand.authorize({}, 'deny');
      expect(new URL(end.url).searchParams.get('error')).toBe('access_denied');
    });

    test('who is not signed in is sent to do that and comes back', async () => {
      service.signedIn = false;
      const { end } = await hand.authorize();
      expect(end.url).toMatch(/\/console\/sign-in\?next=%2Fconsole%2Fconnect%2F/);
    });

    test('an account of others cannot be chosen', async () => {
      const { end } = await hand.authorize({}, 'allow', 'another');
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

  /** Lets every use of a refresh token so far be so long ago that another one is theft. */
  const passRefreshGrace = () =>
    service.store.write(async (tx: Kysely<OauthTables>) => {
      await tx
        .updateTable('oauth_records')
        .set({ consumed_at: Date.now() - REFRESH_GRACE_MS })
        .where('consumed_at', 'is not', null)
        .execute();
    });

  describe('a token', () => {
    test('is good without a resource parameter too, for the one address', async () => {
      const { tokens } = await hand.tokensFor({ resource: undefined, scope: undefined });
      expect((await hand.list(tokens.access_token)).status).toBe(200);
    });

    test('is refused where it was not issued for', async () => {
      const { tokens } = await hand.tokensFor();
      const { access_token: token } = tokens;
      const { authenticate } = service.tokens;
      const account = { id: service.account };
      expect(await authenticate(token, service.url)).toMatchObject({ account });
      const elsewhere = await authenticate(token, 'https://other.example/mcp');
      expect(elsewhere).toMatchObject({ code: 'invalid_api_key' });
    });

    test('is not stored as it is', async () => {
      const { tokens } = await hand.tokensFor();
      const rows = await service.store.read((db: Kysely<OauthTables>) =>
        db.selectFrom('oauth_records').select(['id', 'payload']).execute(),
      );
      const everything = JSON.stringify(rows);
      expect(everything).not.toContain(tokens.access_token);
      expect(everything).not.toContain(tokens.refresh_token);
    });

    test('ends with the membership of its person and with the suspension of its account', async () => {
      const [one, two] = [await hand.tokensFor(), await hand.tokensFor()];
      service.member = false;
      expect((await hand.list(one.tokens.access_token)).status).toBe(401);
      service.member = true;
      await service.suspend();
      expect((await hand.list(two.tokens.access_token)).status).toBe(403);
    });

    test('rotates, and a refresh token that is used twice ends everything', async () => {
      const { client_id, tokens } = await hand.tokensFor();
      const form = { grant_type: 'refresh_token', client_id, refresh_token: tokens.refresh_token };
      const first = await hand.exchange(form);
      expect(first.status).toBe(200);
      const renewed = (await first.json()) as { access_token: string; refresh_token: string };
      expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
      expect((await hand.list(renewed.access_token)).status).toBe(200);
      await passRefreshGrace();
      const again = await hand.exchange(form);
      expect(await again.json()).toMatchObject({ error: 'invalid_grant' });
      const after = await hand.exchange({ ...form, refresh_token: renewed.refresh_token });
      expect(after.status).toBe(400);
    });

    test('is refused once it was revoked', async () => {
      const { client_id, tokens } = await hand.tokensFor();
      const revoked = await fetch(`${service.origin}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ client_id, token: tokens.refresh_token }),
      });
      expect(revoked.status).toBe(200);
      expect((await hand.list(tokens.access_token)).status).toBe(401);
    });
  });

  test('a key is told from a token by its shape, before anything of OAuth looks at it', async () => {
    expect((await hand.list(GOOD_KEY.replace('Bearer ', ''))).status).toBe(200);
    const refusalOf = async (credential: string) =>
      ((await (await hand.list(credential)).json()) as { error: { message: string } }).error
        .message;
    // Whole, without its prefix, another service's, and one with a letter too few for a token.
    const keys = ['s402_live_bad', 'A'.repeat(33), `sk-proj-${'a'.repeat(48)}`, 'a'.repeat(42)];
    for (const key of keys) expect(await refusalOf(key)).toBe('Not a key.');
    for (const token of ['a'.repeat(43), 'eyJhbGciOiJub25lIn0.e30.']) {
      expect(await refusalOf(token)).toContain('This access token is invalid');
    }
  });

  describe('a connection', () => {
    /** Those of this test; databases are shared, and so is the person. */
    const listed = async () => {
      const all = await service.connections.list(PERSON.id);
      return all.filter(({ accountName }) => accountName === `Account ${service.account}`);
    };

    test('is listed with who, what, since when, and when it was last used', async () => {
      expect(await listed()).toEqual([]);
      const { tokens } = await hand.tokensFor();
      const expected = {
        clientName: 'By hand',
        describedAt: undefined,
        scope: 'search',
        resources: service.url,
      };
      expect(await listed()).toMatchObject([{ ...expected, lastUsedAt: undefined }]);
      await hand.list(tokens.access_token);
      await service.connections.flushLastUses();
      expect(await listed()).toMatchObject([{ ...expected, lastUsedAt: expect.any(Date) }]);
    });

    test('that is ended takes its refresh and access tokens with it at once', async () => {
      const [one, other] = [await hand.tokensFor(), await hand.tokensFor()];
      expect((await hand.list(one.tokens.access_token)).status).toBe(200);
      const ended = (await listed()).at(-1)?.id ?? '';
      expect(await service.connections.revoke(PERSON.id, ended)).toBe('revoked');

      expect((await hand.list(one.tokens.access_token)).status).toBe(401);
      const { client_id, tokens } = one;
      const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
      const renewed = await hand.exchange({ ...form, client_id });
      expect(await renewed.json()).toMatchObject({ error: 'invalid_grant' });
      expect((await hand.list(other.tokens.access_token)).status).toBe(200);
      expect(await listed()).toHaveLength(1);
      expect(await service.connections.revoke(PERSON.id, ended)).toBe('not-found');
    });

    test('of another person cannot be ended', async () => {
      const { tokens } = await hand.tokensFor();
      const [mine] = await listed();
      expect(await service.connections.revoke('p2', mine?.id ?? '')).toBe('not-found');
      expect((await hand.list(tokens.access_token)).status).toBe(200);
    });

    test('that the application gave up is listed no more', async () => {
      const { client_id, tokens } = await hand.tokensFor();
      const token = tokens.refresh_token;
      const body = new URLSearchParams({ client_id, token });
      await fetch(`${service.origin}/oauth/revoke`, { method: 'POST', body });
      expect(await listed()).toEqual([]);
    });

    test('shows a name that is fit to be shown', async () => {
      const client_name = `\u0000Evil\u202e${'x'.repeat(200)}`;
      const { client_id } = await hand.register({ client_name });
      await hand.authorize({ client_id });
      const [{ clientName } = { clientName: '' }] = await listed();
      expect(clientName).toBe(`Evil ${'x'.repeat(95)}`);
    });
  });

  test('a code is exchanged once, however many try at once', async () => {
    const { client_id, end } = await hand.authorize();
    const form = hand.formFor(client_id, end);
    const answers = await Promise.all(Array.from({ length: 8 }, () => hand.exchange(form)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 400, 400, 400, 400, 400, 400, 400]);
  });

  test('the wrong verifier gets no token', async () => {
    const { client_id, end } = await hand.authorize();
    const form = hand.formFor(client_id, end);
    const response = await hand.exchange({ ...form, code_verifier: 'a'.repeat(43) });
    expect(await response.json()).toMatchObject({ error: 'invalid_grant' });
  });

  test('what has lapsed, and clients and consents without a token, are forgotten; others stay', async () => {
    const { client_id: used } = await hand.tokensFor();
    const { client_id: unused } = await hand.authorize({}, 'deny');
    const { client_id: unfinished } = await hand.authorize();
    const later = { ...realClock, now: () => unixMillis(Date.now() + 25 * 3_600_000) };
    await sweepRecords(service.store, later);
    const ids = await service.store.read((db: Kysely<OauthTables>) =>
      db.selectFrom('oauth_records').select(['model', 'id']).execute(),
    );
    const clients = ids.filter(({ model }) => model === 'Client').map(({ id }) => id);
    expect(clients).toContain(used);
    expect(clients).not.toContain(unused);
    expect(clients).not.toContain(unfinished);
    const connected = await service.store.read((db: Kysely<OauthTables>) =>
      db
        .selectFrom('oauth_connections')
        .select('client_id')
        .where('account_id', '=', service.account)
        .execute(),
    );
    expect(connected).toEqual([{ client_id: used }]);
    const models = new Set(ids.map(({ model }) => model));
    expect([...models].sort()).toEqual(['Client', 'Grant', 'RefreshToken', 'Secrets']);
  });
});
