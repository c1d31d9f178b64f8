import { USDC_ADDRESS, BASE_CHAIN_ID, USDC_DOMAIN } from '../../contracts-abi/addresses.js';
import { createChainClient, type ChainClient } from '../money/chain/client.js';
import { createHeadFeed, type HeadFeed } from '../money/chain/head-feed.js';
import { preflight } from '../money/chain/preflight.js';
import type { Config } from './config.js';
import { ConfigError } from '../ground/setting-kinds.js';
import type { FacilitatorConfig } from '../money/mover-config.js';
import { startDevChain } from '../dev/chain.js';
import { isPublicAccount } from '../dev/public-accounts.js';
import type { DevFacts } from '../dev/facts.js';
import type { Clock, Log, Random } from '../ground/domain/ports.js';
import { address, type Address } from '../ground/domain/units.js';
import type { PartHealth } from '../ground/observe/health.js';
import { type Lookout, startLookout } from '../ground/observe/lookout.js';
import type { Metrics } from '../ground/observe/metrics.js';
import type { Authorizer } from '../money/claims/authorizer.js';
import type { Signer } from '../money/settlement/signer.js';
import { localRelayer, openRelayers, type RelayerKey } from './relayers.js';

/** The chain on which payments are made, checked and ready. */
export interface ChainAccess {
  readonly chainId: number;
  readonly asset: Address;
  readonly domain: { readonly name: string; readonly version: string };
  readonly payTo: Address;
  /** The accounts that send the transfers; none where a facilitator does. */
  readonly relayers: readonly Signer[];
  /** The keys that channels may name to sign their claims: those of the relayers. */
  readonly authorizers: readonly Authorizer[];
  readonly facilitator?: FacilitatorConfig;
  /** Milliseconds from block to block. */
  readonly blockTimeMs: number;
  readonly client: ChainClient;
  /** Tells when blocks come, where an endpoint pushes them. */
  readonly heads?: Pick<HeadFeed, 'listen'>;
  /** What scripts may know of a chain that was started here. */
  readonly dev?: Pick<
    DevFacts,
    'rpcUrl' | 'chainId' | 'asset' | 'payTo' | 'payerAddress' | 'payerPrivateKey'
  >;
  /** Whether the chain answers, also while nobody pays. */
  health(): PartHealth;
  stop(): Promise<void>;
}

/** Base makes a block every two seconds. */
const BASE_BLOCK_TIME_MS = 2000;
/** How often the chain is asked for its newest block, whoever else asks it; milliseconds. */
const CHAIN_LOOK_MS = { every: 5_000, deadline: 3_000 };

/**
 * Starts the local development chain, or reaches the configured one, and makes sure that it is the
 * chain and the token that payments are quoted in.
 * @throws PreflightError, ConfigError, or why the local chain did not start.
 */
export async function openChain(
  config: Config,
  ports: { clock: Clock; random: Random; log: Log; metrics: Metrics },
): Promise<ChainAccess> {
  const asset = address(USDC_ADDRESS);
  const token = { chainId: BASE_CHAIN_ID, asset, domain: USDC_DOMAIN };
  const source = await findChain(config, ports.log);
  const asking = createChainClient({
    urls: source.rpcUrls,
    chainId: BASE_CHAIN_ID,
    clock: ports.clock,
    random: ports.random,
    log: ports.log,
    onCall: (method) => ports.metrics.rpcCall(method),
  });
  const client = timedClient(asking, ports.metrics);
  ports.metrics.gauge(
    'search402_rpc_endpoints_ready',
    'JSON-RPC endpoints in use; the others are probed again after a while',
    () => client.endpoints().filter(({ standing }) => standing === 'ready').length,
  );
  const heads = openHeads(config, source.blockTimeMs, ports);
  let lookout: Lookout | undefined;
  const stop = async () => {
    await lookout?.stop();
    await heads?.close();
    await client.close();
    await source.stop();
  };
  try {
    await preflight((method, params) => client.request(method, params), token);
  } catch (error) {
    await stop();
    throw error;
  }
  const watched = (lookout = startLookout({
    name: 'the chain',
    look: async () => {
      await client.request('eth_blockNumber', [], { deadlineMs: CHAIN_LOOK_MS.deadline });
    },
    everyMs: CHAIN_LOOK_MS.every,
    deadlineMs: CHAIN_LOOK_MS.deadline,
    ...ports,
  }));
  const { rpcUrls: _, ...found } = source;
  const health = () => watched.health();
  return { ...token, ...found, client, ...(heads && { heads }), health, stop };
}

/** Calls, failovers included, with the time that they take. */
function timedClient(client: ChainClient, metrics: Pick<Metrics, 'timed'>): ChainClient {
  return {
    ...client,
    request: metrics.timed('rpc', (...call) => client.request(...call)),
    ethCall: metrics.timed('rpc', (...call) => client.ethCall(...call)),
    ethRun: metrics.timed('rpc', (...call) => client.ethRun(...call)),
    ethCode: metrics.timed('rpc', (...call) => client.ethCode(...call)),
  };
}

/** Subscribes to new blocks where the settings name an endpoint that pushes them. */
function openHeads(
  { chain }: Config,
  blockTimeMs: number,
  { metrics, ...ports }: { clock: Clock; random: Random; log: Log; metrics: Metrics },
): HeadFeed | undefined {
  if (chain.kind !== 'mainnet' || chain.webSocketUrl === undefined) return undefined;
  const url = chain.webSocketUrl;
  const heads = createHeadFeed({ url, chainId: BASE_CHAIN_ID, blockTimeMs, ...ports });
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge(`search402_rpc_heads_${name}`, help, read);
  gauge('up', '1 while new blocks are announced by WebSocket', () => (heads.status().isUp ? 1 : 0));
  gauge('total', 'New blocks announced since the start', () => heads.status().heads);
  gauge('lost_total', 'Times that the WebSocket was lost', () => heads.status().losses);
  return heads;
}

interface ChainSource extends Omit<
  ChainAccess,
  'chainId' | 'asset' | 'domain' | 'client' | 'heads' | 'health'
> {
  readonly rpcUrls: readonly string[];
}

async function findChain(config: Config, log: Log): Promise<ChainSource> {
  const { chain } = config;
  if (chain.kind === 'development') return startLocal(config, chain.forkUrl, log);
  const { mover } = chain;
  const how =
    'facilitatorUrl' in mover
      ? { relayers: [], authorizers: [], facilitator: mover }
      : keysOf(await openRelayers(mover));
  refusePublicAccounts(chain.payTo, how.relayers);
  return {
    rpcUrls: chain.rpcUrls,
    payTo: chain.payTo,
    ...how,
    blockTimeMs: BASE_BLOCK_TIME_MS,
    stop: () => Promise.resolve(),
  };
}

/** What one key signs: transactions, and the claims of channels. */
function keysOf(relayers: readonly RelayerKey[]) {
  return { relayers, authorizers: relayers.map(({ authorizer }) => authorizer) };
}

/** @throws ConfigError when everybody knows the key of an account that real money would go to. */
function refusePublicAccounts(payTo: Address, relayers: readonly Signer[]): void {
  const known = (setting: string) =>
    `${setting} is an account whose key is public: it comes with a development tool, and anybody ` +
    'can take what it holds. Make a new key that only you know.';
  const problems = [
    ...(isPublicAccount(payTo) ? [known(`PAY_TO (${payTo})`)] : []),
    ...relayers
      .filter((relayer) => isPublicAccount(relayer.address))
      .map((relayer) => known(`The relayer ${relayer.address}`)),
  ];
  if (problems.length > 0) throw new ConfigError(problems);
}

async function startLocal(
  config: Config,
  forkUrl: string | undefined,
  log: Log,
): Promise<ChainSource> {
  const blockTimeMs = config.DEV_BLOCK_TIME_MS;
  const local = await startDevChain({
    dataDir: config.DATA_DIR,
    port: config.DEV_CHAIN_PORT,
    blockTimeSeconds: blockTimeMs / 1000,
    ...(forkUrl !== undefined && { forkUrl }),
    log,
  });
  return {
    rpcUrls: [local.rpcUrl],
    payTo: address(local.payTo),
    ...keysOf([localRelayer(local.relayerPrivateKey)]),
    blockTimeMs,
    dev: local,
    stop: () => local.stop(),
  };
}
