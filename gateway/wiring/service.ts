import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { Router } from 'express';
import type { Logger } from 'pino';
import { openAccess } from './access.js';
import { createApp } from '../edge/app.js';
import type { BannerFacts } from './banner.js';
import { openChain } from './chain-access.js';
import { createWalletProof } from '../money/chain/wallet-proof.js';
import type { Config } from '../ground/config.js';
import { publishDevFacts } from '../dev/publish.js';
import { closedDataFolder, openToOthers, readSealingKey } from '../ground/private-files.js';
import { settingWarnings } from '../ground/setting-warnings.js';
import { formatUsd } from '../ground/domain/units.js';
import { paymentRoutes } from '../edge/http/payment-routes.js';
import { healthRoutes, opsApp } from '../edge/http/ops.js';
import { createDoor } from '../edge/http/door.js';
import { createBoundedServer, drain, listen, listenFault } from '../edge/http/server.js';
import { createUpstream } from '../edge/http/upstream.js';
import { createHealth } from '../ground/observe/health.js';
import { createMetrics } from '../ground/observe/metrics.js';
import { MIGRATIONS } from './migrations.js';
import { openPayments } from './payments.js';
import { openPeopleAccess } from './people-access.js';
import { openSearchCore } from '../ground/processes/open-search-core.js';
import type { Face } from '../search/caller.js';
import { createIdempotentSearch } from '../search/idempotent.js';
import { createKeyedSearch } from '../search/keyed.js';
import { observed } from '../search/observed.js';
import { createSearch, type Search } from '../search/pipeline.js';
import { createStops, type Stops } from './stops.js';
import { openDataFolder } from '../ground/store/data-folder.js';
import { sealingWith } from '../ground/store/sealing.js';
import { openStore } from '../ground/store/open.js';
import { mcpAddresses, openToolAccess } from './tool-access.js';
import { systemClock as clock, systemRandom as random } from '../ground/system.js';

/** A running service. */
export interface Service {
  /** Where everything is; the banner is made of it. */
  readonly facts: BannerFacts;
  /** Stops taking requests, finishes what runs, stops everything that was started. */
  stop(): Promise<void>;
}

/** Bytes of an answer of search-core: 20 descriptions of 8,000 characters, escaped, and air. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
const UPSTREAM_SOCKETS_MAX = 256;

const SERVER_LIMITS = {
  headerBytesMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 5_000,
} as const;

/**
 * Starts everything that the settings ask for and wires it together.
 *
 * @param onFatal told when what is durable can no longer be known: the process has to end.
 * @throws when a part does not come up; what had been started is stopped first.
 */
export async function startService(
  config: Config,
  log: Logger,
  onFatal: (error: unknown) => void,
): Promise<Service> {
  const stops = createStops(log);
  try {
    const facts = await start(config, { log, stops, onFatal });
    return { facts, stop: () => stops.run() };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

interface Surroundings {
  readonly log: Logger;
  readonly stops: Stops;
  readonly onFatal: (error: unknown) => void;
}

async function start(config: Config, surroundings: Surroundings): Promise<BannerFacts> {
  const ground = await openGround(config, surroundings);
  const rooms = await openRooms(config, ground, surroundings);
  const search = wireSearch(config, ground, rooms, surroundings);
  const urls = await openDoors(config, { ...ground, ...rooms, search }, surroundings);
  const { chain, store } = ground;
  const facts = { store, ...urls, clock, random };
  const dev = chain.dev && (await publishDevFacts(config.DATA_DIR, { ...facts, chain: chain.dev }));
  return {
    ...urls,
    dataDir: config.DATA_DIR,
    database: config.DATABASE_URL === undefined ? 'SQLite' : 'PostgreSQL',
    priceUsd: formatUsd(config.PRICE_USD),
    warnings: ground.warnings,
    ...(dev && { dev }),
  };
}

type Ground = Awaited<ReturnType<typeof openGround>>;
type Rooms = Awaited<ReturnType<typeof openRooms>>;

/** What everything stands on: the chain, search-core, and the database. */
async function openGround(config: Config, { log, stops, onFatal }: Surroundings) {
  const { DATA_DIR: dataDir } = config;
  const warnings: string[] = [];
  if (isFolderNeeded(config)) {
    const folder = openDataFolder(dataDir, { isShared: isFolderShared(config) });
    stops.add('data folder', () => folder.stop());
    warnings.push(...(await closedDataFolder(dataDir)));
  }
  warnings.push(...(await openKeyFiles(config)), ...settingWarnings(config));
  const sealingKey = await readSealingKey(dataDir, config.SEALING_KEY_FILE);
  warnings.push(...sealingKey.warnings);
  for (const warning of warnings) log.warn({}, warning);
  const metrics = createMetrics();
  const opening = [
    stops.keep('chain', openChain(config, { clock, random, log, metrics })),
    stops.keep(
      'search-core',
      openSearchCore({
        url: config.SEARCH_CORE_URL,
        indexDir: join(dataDir, 'index'),
        logLevel: config.LOG_LEVEL,
        clock,
        log,
      }),
    ),
  ] as const;
  await Promise.allSettled(opening);
  const [chain, core] = await Promise.all(opening);

  const store = await openStore(
    {
      location: config.DATABASE_URL ?? join(dataDir, 'search402.db'),
      exclusive: true,
      migrations: MIGRATIONS,
    },
    { clock, random, onFailed: onFatal },
  );
  stops.add('database', () => store.close());
  const count = (name: string, help: string, read: () => number) =>
    metrics.gauge(`search402_store_${name}_total`, help, read);
  count('writes', 'Durable writes since the start', () => store.health().writes);
  count('commits', 'Commits since the start', () => store.health().commits);
  const sealing = sealingWith(sealingKey.key, random);
  return { chain, core, store, metrics, sealing, warnings };
}

/** What is wrong with the modes of the relayer's files, which the operator made. */
async function openKeyFiles({ chain }: Config): Promise<readonly string[]> {
  if (chain.kind !== 'mainnet' || !('file' in chain.mover)) return [];
  const { file, passphraseFile } = chain.mover;
  return [
    ...(await openToOthers('RELAYER_PRIVATE_KEY_FILE', file)),
    ...(passphraseFile === undefined
      ? []
      : await openToOthers('RELAYER_PASSPHRASE_FILE', passphraseFile)),
  ];
}

/** Two gateways of one PostgreSQL database may share a folder that holds no chain. */
function isFolderShared({ chain, DATABASE_URL }: Config): boolean {
  return chain.kind === 'mainnet' && DATABASE_URL !== undefined;
}

function isFolderNeeded(config: Config): boolean {
  const { SEARCH_CORE_URL, SEALING_KEY_FILE } = config;
  return !isFolderShared(config) || SEARCH_CORE_URL === undefined || SEALING_KEY_FILE === undefined;
}

/** Who may ask, who pays, and the people behind the accounts. */
async function openRooms(
  config: Config,
  { chain, core, store, metrics, sealing, warnings }: Ground,
  { log, stops }: Surroundings,
) {
  const ports = { clock, random, log };
  const publicUrl = config.PUBLIC_URL ?? `http://localhost:${config.PORT}`;
  const bodyLimits = { bytesMax: config.BODY_BYTES_MAX, timeoutMs: config.BODY_TIMEOUT_MS };
  const access = await stops.keep('access', openAccess(store, ports, config.ADDRESS_RATE));
  const payments = await openPayments(config, { store, chain, publicUrl, metrics, ...ports });
  stops.add('settlement', () => payments.stop(config.DRAIN_TIMEOUT_MS));
  const settings = {
    publicUrl,
    mcp: mcpAddresses(config),
    ...(config.SMTP_URL !== undefined && { smtpUrl: config.SMTP_URL }),
    mailFrom: config.MAIL_FROM,
    warnings,
    isOutboxShown: config.chain.kind === 'development',
    operatorEmails: config.OPERATOR_EMAILS,
    ...(config.WALLET_SIGN_IN && {
      walletProof: createWalletProof({
        client: chain.client,
        chainId: chain.chainId,
        publicUrl,
        contractWallets: config.CONTRACT_WALLETS,
      }),
    }),
    priceUnits: config.PRICE_USD,
    bodyLimits,
  };
  const figures = () => {
    const { ready, detail } = core.health();
    const index = { name: 'Search index', value: detail ?? (ready ? 'ready' : 'down') };
    return [...payments.figures(), index];
  };
  const people = await stops.keep(
    'people',
    openPeopleAccess(
      store,
      access,
      settings,
      { ...ports, sealing },
      { topUpPayments: payments.topUps, figures },
    ),
  );
  return { access, payments, people, publicUrl, bodyLimits };
}

/** The pipeline, over everything that was opened. */
function wireSearch(
  config: Config,
  { core, metrics }: Ground,
  { access, payments, people }: Rooms,
  { log, stops }: Surroundings,
): Search {
  const upstream = createUpstream({
    url: core.url,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    socketsMax: UPSTREAM_SOCKETS_MAX,
    log,
  });
  stops.add('upstream', () => upstream.close());
  const search = createSearch({
    run: upstream,
    meter: people.meter,
    authenticate: access.authenticate,
    admitCaller: (caller) => access.limits.admit(caller),
    admitAddress: (address, policy) => access.limits.admitAddress(address, policy),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
    readPayment: payments.readPayment,
    searchOnCredits: createIdempotentSearch({
      search: createKeyedSearch(access.credits),
      replies: access.replies,
      clock,
      waitMs: config.UPSTREAM_TIMEOUT_MS,
    }),
    searchForPayment: payments.searchForPayment,
  });
  return observed(search, metrics, log, clock);
}

/** Opens the addresses: the operator's first, the gateway's last. */
async function openDoors(
  config: Config,
  parts: Ground & Rooms & { readonly search: Search },
  { log, stops }: Surroundings,
) {
  const { store, core, metrics, access, payments, people, search, bodyLimits, publicUrl } = parts;
  const { TRUSTED_PROXIES: trustedProxies } = config;
  const health = createHealth({
    database: () => ({ ready: store.health().ready }),
    searchCore: () => core.health(),
    settlement: () => payments.health(),
  });
  const tools = await stops.keep(
    'tool protocol',
    openToolAccess(config, { ...parts, offer: payments.offer, clock, random, log }),
  );
  const inquiries = paymentRoutes({
    inquiry: payments.inquiry,
    admitAddress: (address) => access.limits.admitAddress(address, 'challenge'),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
    receiptHeader: (receipt, version) => payments.wire.receiptHeader(receipt, version),
  });
  const routesFor = (face: Face) =>
    (face === 'gateway' ? Router().use(inquiries) : Router())
      .use(tools.routesFor(face))
      .use(face === 'gateway' ? people.consoleAndAccount : people.account);
  const appFor = (face: Face) =>
    createApp({
      face,
      search,
      wire: payments.wire,
      bodyLimits,
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
    setting: 'PORT' | 'API_PORT' | 'OPS_PORT',
    host: string,
  ): Promise<string> => {
    const limits = {
      ...SERVER_LIMITS,
      connectionsMax: config.CONNECTIONS_MAX,
      trustedProxies,
    };
    const server = createBoundedServer(listener, limits, random);
    const actual = await listen(server, config[setting], host).catch((error: unknown) => {
      throw listenFault(error, { setting, port: config[setting], host });
    });
    stops.add('listener', () => drain(server, config.DRAIN_TIMEOUT_MS));
    return `http://${reachable(host)}:${actual}`;
  };
  const doorOf = (face: Face) =>
    createDoor({ listener: appFor(face), work: access.unpaid, random, clock, trustedProxies });
  const opsUrl = await open(opsApp(health, metrics), 'OPS_PORT', config.OPS_HOST);
  const apiUrl = await open(doorOf('api'), 'API_PORT', config.HOST);
  const gatewayUrl = await open(doorOf('gateway'), 'PORT', config.HOST);
  stops.add('readiness', () => health.drain());
  return { gatewayUrl, apiUrl, opsUrl };
}

/** Where something on this machine reaches a listener: every address is none to connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
