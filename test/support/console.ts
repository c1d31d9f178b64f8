import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { Router } from 'express';
import type { Kysely } from 'kysely';
import { openAccess, type Access } from '../../gateway/wiring/access.js';
import { readOutbox } from '../../gateway/customers/people/mail.js';
import { PACK_MIGRATIONS } from '../../gateway/customers/packs/schema.js';
import { PEOPLE_MIGRATIONS, type PeopleTables } from '../../gateway/customers/people/schema.js';
import { ACCOUNT_MIGRATIONS } from '../../gateway/customers/credits/schema.js';
import type { TopUpPayments } from '../../gateway/customers/credits/top-up.js';
import { USAGE_MIGRATIONS } from '../../gateway/customers/usage/schema.js';
import { createApp } from '../../gateway/edge/app.js';
import type { SearchNodeFacts, WatchFacts } from '../../gateway/edge/console/parts.js';
import { createGuard } from '../../gateway/edge/console/guard.js';
import { sayingRoutes } from '../../gateway/edge/console/said.js';
import { refuse } from '../../gateway/ground/domain/refusal.js';
import { usdcUnits } from '../../gateway/ground/domain/units.js';
import { KEY_MIGRATIONS } from '../../gateway/customers/keys/schema.js';
import { connectionPages } from '../../gateway/edge/oauth/connection-pages.js';
import { openConnections, type Connections } from '../../gateway/edge/oauth/connections.js';
import { OAUTH_MIGRATIONS } from '../../gateway/edge/oauth/schema.js';
import type { Tokens } from '../../gateway/edge/oauth/tokens.js';
import { openPeopleAccess } from '../../gateway/wiring/people-access.js';
import type { RunSearch } from '../../gateway/search/answer.js';
import { createKeyedSearch } from '../../gateway/search/keyed.js';
import { createSearch } from '../../gateway/search/pipeline.js';
import { keptOpen } from '../../gateway/search/keeping.js';
import { openStore } from '../../gateway/ground/store/open.js';
import type { Store } from '../../gateway/ground/store/store.js';
import { realClock, realRandom, silentLog } from './ports.js';
import { testSealing } from './sealing.js';
import { freeAllowance } from './allowance.js';
import { keyWalletProof } from './wallets.js';

/** The whole gateway face but for payments and search-core, listening on a free port. */
export interface ConsoleWorld {
  readonly url: string;
  readonly store: Store;
  readonly access: Access;
  /** Everything at `/account` and `/console`. */
  readonly router: Router;
  readonly connections: Connections;
  /** The link in the newest mail to an address. */
  linkTo(email: string): Promise<string>;
  personId(email: string): Promise<string>;
  close(): Promise<void>;
}

/** One result for every query, but nothing for `broken`. */
const run: RunSearch = ({ query }, { requestId }) => {
  if (query === 'broken') return Promise.resolve(refuse('upstream_error', 'It broke.'));
  const results = [{ title: query, url: 'https://example.org/', description: 'A page.' }];
  const searchMetadata = { executionTime: 0.001 };
  const body = { requestId, result: { results, searchMetadata, totalResults: 1 } };
  const bytes = Buffer.from(JSON.stringify(body));
  return Promise.resolve({ kind: 'answer', body: bytes, resultCount: 1 });
};

/** No application signs in here. */
const noTokens: Tokens = {
  authenticate: () => Promise.reject(new Error('no tokens here')),
  forget: () => undefined,
  takeLastUses: () => new Map(),
};

const noPayments = () => {
  throw new Error('no payments here');
};

export async function openConsoleWorld(
  more: {
    location?: string;
    topUpPayments?: TopUpPayments;
    /** Present where the operator's page is to show them. */
    searchNodes?: readonly SearchNodeFacts[];
    watch?: WatchFacts;
    operatorEmails?: string[];
    hasWallets?: boolean;
    isOutboxShown?: boolean;
    warnings?: readonly string[];
    smtpUrl?: string;
    /** Proxies whose X-Forwarded-For is believed, so that a test can come from many addresses. */
    trustedProxies?: number;
  } = {},
): Promise<ConsoleWorld> {
  const { location = ':memory:', topUpPayments, operatorEmails = [], searchNodes, watch } = more;
  const { hasWallets = true, isOutboxShown = true, trustedProxies = 0 } = more;
  const { warnings = [], smtpUrl } = more;
  const migrations = [
    ...KEY_MIGRATIONS,
    ...ACCOUNT_MIGRATIONS,
    ...PEOPLE_MIGRATIONS,
    ...USAGE_MIGRATIONS,
    ...OAUTH_MIGRATIONS,
    ...PACK_MIGRATIONS,
  ];
  const ports = { clock: realClock, random: realRandom, log: silentLog };
  const store = await openStore({ location, migrations }, { ...ports, onFailed: () => undefined });
  const access = await openAccess(store, ports, 100);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bodyLimits = { bytesMax: 16_384, timeoutMs: 5000 };
  const people = await openPeopleAccess(
    store,
    access,
    {
      publicUrl: url,
      ...(hasWallets && { walletProof: keyWalletProof(url) }),
      mcp: { keyed: `${url}/mcp`, open: `${url}/mcp` },
      mailFrom: 'test@example.org',
      isOutboxShown,
      warnings,
      ...(smtpUrl !== undefined && { smtpUrl }),
      operatorEmails,
      priceUnits: usdcUnits(50n),
      keepsRequests: true,
      packLifetimeMs: 365 * 24 * 3600 * 1000,
      bodyLimits,
    },
    { ...ports, sealing: testSealing },
    {
      ...(topUpPayments && { topUpPayments }),
      ...(searchNodes && { searchNodes: () => searchNodes }),
      ...(watch && { watch: () => Promise.resolve(watch) }),
    },
  );
  const connections = openConnections(store, realClock, noTokens);
  const guard = createGuard(people.people, people.team, operatorEmails);
  const saying = sayingRoutes(testSealing, realClock, { isHttps: false });
  const router = Router()
    .use('/console', connectionPages(connections, guard, saying))
    .use(people.consoleAndAccount);
  const search = createSearch<object>({
    run,
    keeping: keptOpen,
    meter: people.meter,
    authenticate: access.authenticate,
    admitCaller: (caller) => access.limits.admit(caller),
    admitAddress: (address, policy) => access.limits.admitAddress(address, policy),
    chainAllowance: () => freeAllowance,
    readPayment: noPayments,
    searchOnCredits: createKeyedSearch(access.credits, { chargesEmpty: true }),
    searchForPayment: noPayments,
  });
  const app = createApp({
    homeUrl: 'http://localhost:4020',
    face: 'gateway',
    search,
    wire: { challengeHeader: () => 'challenge', receiptHeader: () => 'receipt' },
    bodyLimits,
    isHttps: false,
    trustedProxies,
    health: {
      live: (_, response) => response.end(),
      ready: (_, response) => response.end(),
      readyForPayments: (_, response) => response.end(),
    },
    routes: router,
    random: realRandom,
    log: silentLog,
  });
  server.on('request', app);
  const mailTo = async (email: string): Promise<string> => {
    for (let tries = 0; tries < 100; tries++) {
      const mail = (await readOutbox(store)).find(({ to }) => to === email);
      if (mail) return mail.text;
      await realClock.sleep(20);
    }
    throw new Error(`no mail to ${email}`);
  };
  return {
    url,
    store,
    access,
    router,
    connections,
    linkTo: async (email) => /https?:\S+/.exec(await mailTo(email))?.[0] ?? '',
    personId: async (email) => {
      const row = await store.read((db: Kysely<PeopleTables>) =>
        db.selectFrom('people').select('id').where('email', '=', email).executeTakeFirstOrThrow(),
      );
      return row.id;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await people.stop();
      await access.stop();
      await store.close();
    },
  };
}
