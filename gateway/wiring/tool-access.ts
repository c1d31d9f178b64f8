import { Router, type Request, type RequestHandler } from 'express';
import type { Access } from './access.js';
import type { Config } from './config.js';
import { createGuard, visitorOf } from '../edge/console/guard.js';
import { sayingRoutes } from '../edge/console/said.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import { startHousekeeping } from './housekeeping.js';
import type { BodyLimits } from '../edge/http/body.js';
import { createCors } from '../edge/http/cors.js';
import { bearerAuthenticator } from '../edge/mcp/bearer.js';
import { createMcpEndpoint } from '../edge/mcp/endpoint.js';
import { mcpRoute, resourceOf, type Resources } from '../edge/mcp/route.js';
import { createMcpWire } from '../edge/mcp/wire.js';
import { connectionPages } from '../edge/oauth/connection-pages.js';
import { openConnections } from '../edge/oauth/connections.js';
import type { Login } from '../edge/oauth/consent.js';
import { openAuthorizationServer } from '../edge/oauth/provider.js';
import { sweepRecords } from '../edge/oauth/records.js';
import { oauthRoutes, resourceMetadata } from '../edge/oauth/routes.js';
import type { Subject } from '../edge/oauth/subject.js';
import { openTokens } from '../edge/oauth/tokens.js';
import { ownUrl } from './own-url.js';
import type { PeopleAccess } from './people-access.js';
import type { Face } from '../search/caller.js';
import type { Search } from '../search/pipeline.js';
import type { Proofs } from '../search/proofs.js';
import type { Sealing } from '../ground/store/sealing.js';
import type { Store } from '../ground/store/store.js';
import { ownVersion } from '../ground/version.js';
import type { CurrentOffer } from './x402-wire.js';

export interface ToolAccessParts {
  readonly store: Store;
  readonly access: Access;
  readonly people: PeopleAccess;
  readonly search: Search;
  readonly offer: CurrentOffer;
  readonly bodyLimits: BodyLimits;
  readonly sealing: Sealing;
  /** Signs quotes and receipts; absent where the settings turn that off. */
  readonly proofs?: Proofs;
  /** Where people reach the console, without a path. */
  readonly publicUrl: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The tool protocol and the sign-in for it. */
export interface ToolAccess {
  /** `/mcp` and its description; on the gateway's face the authorization server as well. */
  routesFor(face: Face): Router;
  stop(): Promise<void>;
}

/** Where clients connect: with an account, and to pay for each call. */
export function mcpAddresses(config: Config): { keyed: string; open: string } {
  const [keyed] = addressesOf(config.API_PUBLIC_URL, config.HOST, config.API_PORT);
  const [open] = addressesOf(config.PUBLIC_URL, config.HOST, config.PORT);
  return { keyed, open };
}

const SWEEP_EVERY_MS = 600_000;
const FLUSH_EVERY_MS = 1000;

export async function openToolAccess(config: Config, parts: ToolAccessParts): Promise<ToolAccess> {
  const { store, clock, random, log, sealing, people, publicUrl } = parts;
  const issuer = new URL(publicUrl).origin;
  const resources = {
    api: addressesOf(config.API_PUBLIC_URL, config.HOST, config.API_PORT),
    gateway: addressesOf(config.PUBLIC_URL, config.HOST, config.PORT),
  };
  const all: Resources = [...resources.api, ...resources.gateway];
  const ports = { store, clock, random, log, sealing };
  const reachesPrivate = config.chain.kind === 'development';
  const asked = { issuer, resources: all, reachesPrivate };
  const provider = await openAuthorizationServer({ ...ports, ...asked });
  const isMember = async ({ personId, accountId }: Subject) => {
    const memberships = await people.team.memberships(personId);
    return memberships.some((one) => one.accountId === accountId);
  };
  const tokens = openTokens({ provider, store, clock, isMember });
  const connections = openConnections(store, clock, tokens);
  const endpoint = createMcpEndpoint({
    search: parts.search,
    wire: createMcpWire(parts.offer, parts.proofs),
    random,
    log,
    version: ownVersion(),
  });
  const authenticate = bearerAuthenticator({
    key: parts.access.authenticate,
    token: tokens.authenticate,
  });
  const originHosts = [...all.map((url) => new URL(url).hostname), ...config.MCP_ORIGIN_HOSTS];
  const { bodyLimits } = parts;
  const housekeeping = startHousekeeping(clock, log);
  housekeeping.every(SWEEP_EVERY_MS, 'forgetting lapsed sign-ins', () =>
    sweepRecords(store, clock),
  );
  housekeeping.every(FLUSH_EVERY_MS, 'writing last uses', () => connections.flushLastUses());
  return {
    routesFor(face) {
      const router = Router();
      const own = resources[face];
      router.all(METADATA_PATHS, createCors('GET'));
      router.get(METADATA_PATHS, describeResource(own, issuer));
      const route = { endpoint, face, bodyLimits, resources: own, originHosts, authenticate };
      router.all('/mcp', mcpRoute(route));
      if (face === 'gateway') {
        const login = loginOf(people);
        const [defaultResource] = all;
        router.use(oauthRoutes({ provider, connections, login, issuer, defaultResource, clock }));
        const guard = createGuard(people.people, people.team, config.OPERATOR_EMAILS);
        const isHttps = publicUrl.startsWith('https:');
        const saying = sayingRoutes(sealing, clock, { isHttps });
        router.use('/console', connectionPages(connections, guard, saying));
      }
      return router;
    },
    stop: async () => {
      await Promise.all([endpoint.close(), housekeeping.stop()]);
      await connections.flushLastUses();
    },
  };
}

/** RFC 9728, 3.1: the well-known part goes before the path; some clients leave the path out. */
const METADATA_PATHS = [
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-protected-resource',
];

function describeResource(resources: Resources, issuer: string): RequestHandler {
  return (request, response) => {
    response.json(resourceMetadata(resourceOf(request, resources), issuer));
  };
}

/** The public address of a face's `/mcp`; without one, all names of this machine. */
function addressesOf(publicUrl: string | undefined, host: string, port: number): Resources {
  if (publicUrl !== undefined) return [`${new URL(publicUrl).origin}/mcp`];
  const first = `${ownUrl(host, port)}/mcp`;
  const others = ['localhost', '127.0.0.1', '[::1]'].map((name) => `http://${name}:${port}/mcp`);
  return [first, ...others.filter((address) => address !== first)];
}

/** The console's session is the login. */
function loginOf({ people, team }: PeopleAccess): Login {
  return {
    async visitor(request: Request) {
      const session = await people.session(visitorOf(request));
      if (!session) return undefined;
      const memberships = await team.memberships(session.person.id);
      const accounts = memberships.map(({ accountId, accountName }) => ({
        id: accountId,
        name: accountName,
      }));
      return { person: session.person, accounts };
    },
    signInUrl: (path) => `/console/sign-in?to=${encodeURIComponent(path)}`,
  };
}
