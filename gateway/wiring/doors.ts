import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { Router } from 'express';
import { createApp } from '../edge/app.js';
import { frontRoutes } from '../edge/front/routes.js';
import { claimsKey } from '../edge/faces/keys.js';
import { createFaces, facesRefusals } from '../edge/faces/listener.js';
import { createDoor } from '../edge/http/door.js';
import { healthRoutes, opsApp } from '../edge/http/ops.js';
import { channelRoutes } from '../edge/http/channel-routes.js';
import { paymentRoutes } from '../edge/http/payment-routes.js';
import {
  closeAfterReplies,
  createBoundedServer,
  drain,
  listen,
  listenFault,
} from '../edge/http/server.js';
import { createHealth } from '../ground/observe/health.js';
import { systemClock as clock, systemRandom as random } from '../ground/system.js';
import type { Face } from '../search/caller.js';
import type { FreeSearch } from '../search/free.js';
import type { Search } from '../search/pipeline.js';
import type { Config } from './config.js';
import type { Ground, Surroundings } from './ground.js';
import type { Rooms } from './rooms.js';
import { indexState } from './index-state.js';
import { packDoor } from './pack-access.js';
import { mcpAddresses, openToolAccess } from './tool-access.js';

const SERVER_LIMITS = {
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
} as const;

/** Milliseconds for the operator's last questions. */
const OPS_DRAIN_MS = 1_000;

/** Opens the addresses: the operator's first, the gateway's last. */
export async function openDoors(
  config: Config,
  parts: Ground & Rooms & { readonly search: Search; readonly freeSearch: FreeSearch },
  { log, stops }: Surroundings,
) {
  const { store, core, chain, metrics, access, payments, people, search, bodyLimits, publicUrl } =
    parts;
  const { TRUSTED_PROXIES: trustedProxies } = config;
  const health = createHealth({
    keys: {
      database: () => {
        const { ready, problem } = store.health();
        return { ready, ...(problem !== undefined && { detail: problem }) };
      },
      searchCore: () => core.health(),
    },
    payments: { chain: () => chain.health(), settlement: () => payments.health() },
  });
  const { offer, proofs } = payments;
  const sale = { offer, ...(proofs && { proofs }) };
  const tools = await stops.keep(
    'tool protocol',
    openToolAccess(config, { ...parts, ...sale, clock, random, log }),
  );
  const inquiries = paymentRoutes({
    inquiry: payments.inquiry,
    admitAddress: (address) => access.limits.admitAddress(address, 'challenge'),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
    receiptHeader: (receipt, version, delivered) =>
      payments.wire.receiptHeader(receipt, version, delivered),
  });
  const front = frontRoutes({
    url: publicUrl,
    mcp: mcpAddresses(config),
    clock,
    freeSearch: parts.freeSearch,
    offer,
    ...(proofs && { didDocument: proofs.document }),
    isReady: async () => (await health.check()).keys,
    index: indexState(clock, {
      nodes: core.nodes,
      ...(config.searchCoreUrls.length === 0 && { indexDir: join(config.DATA_DIR, 'index') }),
    }),
  });
  const { refund } = payments;
  const refunds = channelRoutes(
    refund && {
      refund,
      admitAddress: (address) => access.limits.admitAddress(address, 'challenge'),
      wire: payments.wire,
    },
  );
  const packDesk = packDoor(config, { ...parts, clock, random });
  const routesFor = (face: Face) =>
    (face === 'gateway' ? Router().use(front).use(inquiries).use(refunds).use(packDesk) : Router())
      .use(tools.routesFor(face))
      .use(face === 'gateway' ? people.consoleAndAccount : people.account);
  const appFor = (face: Face) =>
    createApp({
      face,
      search,
      wire: payments.wire,
      bodyLimits,
      homeUrl: publicUrl,
      routes: routesFor(face),
      isHttps: (face === 'api' ? (config.API_PUBLIC_URL ?? publicUrl) : publicUrl).startsWith(
        'https:',
      ),
      trustedProxies,
      health: healthRoutes(health),
      random,
      log,
    });
  const open = async (
    listener: RequestListener,
    setting: 'PORT' | 'API_PORT' | 'OPS_PORT' | 'FACES_PORT',
    port: number,
    host: string,
  ) => {
    const limits = {
      ...SERVER_LIMITS,
      keepAliveMs: config.KEEP_ALIVE_MS,
      connectionsMax: config.CONNECTIONS_MAX,
      trustedProxies,
    };
    const server = createBoundedServer(listener, limits, random);
    const actual = await listen(server, port, host).catch((error: unknown) => {
      throw listenFault(error, { setting, port, host });
    });
    return { server, url: `http://${reachable(host)}:${actual}` };
  };
  const door = { work: access.unpaid, random, clock, trustedProxies };
  const doorOf = (face: Face) => createDoor({ listener: appFor(face), ...door });
  const openFaces = async (port: number) => {
    const listener = createFaces({ search, bodyLimits, trustedProxies, clock, random, log });
    const manners = { claimsKey, writeRefusal: facesRefusals(clock) };
    return open(createDoor({ listener, ...door, ...manners }), 'FACES_PORT', port, config.HOST);
  };
  const ops = await open(opsApp(health, metrics), 'OPS_PORT', config.OPS_PORT, config.OPS_HOST);
  stops.add('operator’s door', (leftMs) => drain(ops.server, Math.min(leftMs(), OPS_DRAIN_MS)));
  const api = await open(doorOf('api'), 'API_PORT', config.API_PORT, config.HOST);
  stops.add('keys’ door', (leftMs) => drain(api.server, leftMs()));
  const { FACES_PORT } = config;
  const faces = FACES_PORT === undefined ? undefined : await openFaces(FACES_PORT);
  if (faces) stops.add('faces', (leftMs) => drain(faces.server, leftMs()));
  const gateway = await open(doorOf('gateway'), 'PORT', config.PORT, config.HOST);
  const doors = [api.server, gateway.server, ...(faces ? [faces.server] : [])];
  stops.add('doors', async (leftMs) => {
    health.drain();
    for (const server of doors) closeAfterReplies(server);
    // Whoever balances load learns of it first, and sends the next requests elsewhere.
    await clock.sleep(config.DRAIN_DELAY_MS);
    await Promise.all(doors.map((server) => drain(server, leftMs())));
  });
  return {
    gatewayUrl: gateway.url,
    apiUrl: api.url,
    opsUrl: ops.url,
    ...(faces && { facesUrl: faces.url }),
  };
}

/** Where something on this machine reaches a listener: every address is none to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
