import type { Kysely } from 'kysely';
import { ACCOUNT_MIGRATIONS } from '../../gateway/customers/credits/schema.js';
import { KEY_MIGRATIONS, type KeyTables } from '../../gateway/customers/keys/schema.js';
import { bearerAuthenticator } from '../../gateway/edge/mcp/bearer.js';
import { openAuthorizationServer } from '../../gateway/edge/oauth/provider.js';
import { oauthRoutes, resourceMetadata } from '../../gateway/edge/oauth/routes.js';
import { OAUTH_MIGRATIONS } from '../../gateway/edge/oauth/schema.js';
import { openConnections, type Connections } from '../../gateway/edge/oauth/connections.js';
import { openTokens, type Tokens } from '../../gateway/edge/oauth/tokens.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { givenAccount } from './accounts.js';
import { authenticated, startMcp, type ServiceUnderTest } from './mcp.js';
import { realClock, realRandom, silentLog } from './ports.js';
import { testSealing } from './sealing.js';
import { temporaryStore } from './stores.js';

export const PERSON = {
  id: 'p1',
  name: 'Pat',
  email: 'pat@example.com',
  password: 'correct horse battery',
};

export interface OauthUnderTest extends ServiceUnderTest {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly connections: Connections;
  readonly origin: string;
  /** The account that its person may choose. */
  readonly account: string;
  /** Whether the browser's person is signed in at the console. */
  signedIn: boolean;
  /** Whether that person belongs to the account. */
  member: boolean;
  suspend(): Promise<void>;
}

/**
 * The keyed `/mcp` with its authorization server over a real database; the login is a switch.
 *
 * @param options.location of the database; without it a file of its own.
 * @param options.reachesPrivate whether clients may be described on this machine.
 */
export async function startOauth(
  options: { location?: string; reachesPrivate?: boolean } = {},
): Promise<OauthUnderTest> {
  const migrations = [...KEY_MIGRATIONS, ...ACCOUNT_MIGRATIONS, ...OAUTH_MIGRATIONS];
  const { store, discard } = await temporaryStore(migrations, options.location);
  const account = await givenAccount(store);
  const state = { signedIn: true, member: true };
  const made: { tokens?: Tokens; connections?: Connections; origin?: string } = {};
  const service = await startMcp({
    face: 'api',
    async mount(app, origin) {
      const provider = await openAuthorizationServer({
        store,
        clock: realClock,
        random: realRandom,
        log: silentLog,
        sealing: testSealing,
        issuer: origin,
        resources: [`${origin}/mcp`],
        reachesPrivate: options.reachesPrivate ?? false,
      });
      const isMember = () => Promise.resolve(state.member);
      const tokens = openTokens({ provider, store, clock: realClock, isMember });
      const connections = openConnections(store, realClock, tokens);
      Object.assign(made, { tokens, connections, origin });
      app.get('/.well-known/oauth-protected-resource/mcp', (_request, response) => {
        response.json(resourceMetadata(`${origin}/mcp`, origin));
      });
      const login = {
        visitor: () =>
          Promise.resolve(
            state.signedIn
              ? { person: PERSON, accounts: [{ id: account, name: 'Acme' }] }
              : undefined,
          ),
        signInUrl: (path: string) => `/console/sign-in?next=${encodeURIComponent(path)}`,
      };
      const defaultResource = `${origin}/mcp`;
      const parts = { provider, connections, login, defaultResource, clock: realClock };
      app.use(oauthRoutes({ ...parts, issuer: origin }));
      return bearerAuthenticator({
        key: (authorization) => Promise.resolve(authenticated(authorization)),
        token: tokens.authenticate,
      });
    },
  });
  const { tokens, connections, origin } = made;
  if (!tokens || !connections || origin === undefined) throw new Error('not mounted');
  return Object.assign(state, service, {
    store,
    tokens,
    connections,
    origin,
    account,
    suspend: () =>
      store.write(async (tx: Kysely<KeyTables>) => {
        const suspended = { suspended_at: Date.now() };
        await tx.updateTable('accounts').set(suspended).where('id', '=', account).execute();
      }),
    close: async () => {
      await service.close();
      await discard();
    },
  });
}

/** A browser: follows redirects on one origin with its cookies, and says what it saw. */
export function browser(origin: string) {
  const jar = new Map<string, string>();
  const visit = async (
    url: string,
    init: RequestInit = {},
  ): Promise<{ url: string; status: number; text: string }> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(init.headers as Record<string, string> | undefined), cookie };
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    const text = await response.text();
    if (location === null) return { url, status: response.status, text };
    const next = new URL(location, url);
    if (next.origin !== origin || next.pathname === '/callback') {
      return { url: next.href, status: response.status, text };
    }
    return visit(next.href);
  };
  const post = (path: string, form: Record<string, string>) =>
    visit(new URL(path, origin).href, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
      body: new URLSearchParams(form).toString(),
    });
  /** Answers the page that asks for consent; charges the first account that it offers. */
  const answer = (
    asked: { url: string; text: string },
    decision: 'allow' | 'deny',
    account = /name="account"\s+value="([^"]+)"/.exec(asked.text)?.[1] ?? '',
  ) => post(new URL(asked.url).pathname, { decision, account });
  return { visit, post, answer };
}

/** Signs PERSON up at the real console, by the link in the mail of a development start. */
export async function signUp(
  origin: string,
  { visit, post }: ReturnType<typeof browser>,
): Promise<void> {
  const { name, email, password } = PERSON;
  await post('/console/sign-up', { name, email });
  for (let tries = 0; tries < 100; tries++) {
    const { text } = await visit(`${origin}/console/outbox`);
    const token = /\/console\/verify\?token=([^"&\s<]+)/.exec(text)?.[1];
    if (token !== undefined) {
      await post('/console/verify', { token: decodeURIComponent(token), password });
      return;
    }
    await realClock.sleep(50);
  }
  throw new Error('no mail came');
}
