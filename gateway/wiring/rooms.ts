import { join } from 'node:path';
import { freeSearches } from '../customers/limits/free-searches.js';
import { createUpstream } from '../edge/http/upstream.js';
import { formatUsd } from '../ground/domain/units.js';
import type { PartHealth } from '../ground/observe/health.js';
import { systemClock as clock, systemRandom as random } from '../ground/system.js';
import { createWalletProof } from '../money/chain/wallet-proof.js';
import { createFreeSearch, type FreeSearch } from '../search/free.js';
import { createIdempotentSearch } from '../search/idempotent.js';
import { createKeyedSearch } from '../search/keyed.js';
import { observed } from '../search/observed.js';
import { createSearch, type Search } from '../search/pipeline.js';
import { openAccess } from './access.js';
import { nodeFacts } from './node-facts.js';
import type { Config } from './config.js';
import type { Ground, Surroundings } from './ground.js';
import { openPackAccess } from './pack-access.js';
import { openPayments } from './payments.js';
import { openPeopleAccess } from './people-access.js';
import { indexState } from './index-state.js';
import { ownUrl } from './own-url.js';
import { mcpAddresses } from './tool-access.js';
import { watchFacts } from './watch-facts.js';

/** Bytes of an answer of search-core: 20 descriptions of 8,000 characters, escaped, and air. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024;
const UPSTREAM_SOCKETS_MAX = 256;

/** Where people look at transactions, by chain. */
const EXPLORERS: Readonly<Record<number, string>> = {
  8453: 'https://basescan.org',
  84532: 'https://sepolia.basescan.org',
};

export type Rooms = Awaited<ReturnType<typeof openRooms>>;

/** Who may ask, who pays, and the people behind the accounts. */
export async function openRooms(
  config: Config,
  { chain, core, store, metrics, sealing, warnings }: Ground,
  { log, stops }: Surroundings,
) {
  const ports = { clock, random, log };
  const publicUrl = config.PUBLIC_URL ?? ownUrl(config.HOST, config.PORT);
  const bodyLimits = { bytesMax: config.BODY_BYTES_MAX, timeoutMs: config.BODY_TIMEOUT_MS };
  const access = await stops.keep('access', openAccess(store, ports, config.ADDRESS_RATE));
  const { keys, credits } = access;
  const packing = { store, keys, credits, sealing, ...ports };
  const packs = await stops.keep('packs', openPackAccess(config, packing));
  const paying = { store, chain, packs: packs.packs, publicUrl, metrics, sealing, ...ports };
  const payments = await openPayments(config, paying);
  stops.add('settlement', (leftMs) => payments.stop(leftMs()));
  const index = indexState(clock, {
    nodes: core.nodes,
    ...(config.searchCoreUrls.length === 0 && { indexDir: join(config.DATA_DIR, 'index') }),
  });
  const explorerUrl = config.chain.kind === 'development' ? undefined : EXPLORERS[chain.chainId];
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
    ...(explorerUrl !== undefined && { explorerUrl }),
    priceUnits: config.PRICE_USD,
    packLifetimeMs: packs.lifetimeMs,
    keepsRequests: config.RETENTION,
    bodyLimits,
  };
  const figures = async () => {
    const stateOf = ({ ready, detail }: PartHealth) => detail ?? (ready ? 'ready' : 'down');
    const part = { name: 'Search index', value: stateOf(core.health()) };
    const rpc = { name: 'RPC endpoints', value: stateOf(chain.health()) };
    const { sold, revenue, owed } = await packs.holders.figures();
    const onPacks = [
      { name: 'Packs sold', value: `${sold} for ${formatUsd(revenue)} USDC` },
      { name: 'Searches owed on packs', value: String(owed) },
    ];
    return [...payments.figures(), rpc, part, ...onPacks];
  };
  const people = await stops.keep(
    'people',
    openPeopleAccess(
      store,
      access,
      settings,
      { ...ports, sealing },
      {
        topUpPayments: payments.topUps,
        operator: {
          figures,
          index,
          runwayHours: () => payments.runwayHours(),
          ethUsd: config.ETH_USD,
        },
        searchNodes: () => nodeFacts(core.nodes),
        watch: () => watchFacts(join(config.DATA_DIR, 'index')),
      },
    ),
  );
  return { access, packs, payments, people, publicUrl, bodyLimits, index };
}

/** The searches: the pipeline for those who pay, and the front page's own. */
export function wireSearch(
  config: Config,
  { core, metrics, keeping }: Ground,
  { access, payments, people }: Rooms,
  { log, stops }: Surroundings,
): { readonly search: Search; readonly freeSearch: FreeSearch } {
  const upstream = createUpstream({
    nodes: core.nodes,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    clock,
    onTry: (node, ended) => metrics.searchTry(node, ended),
    bytesMax: ANSWER_BYTES_MAX,
    socketsMax: UPSTREAM_SOCKETS_MAX,
    log,
  });
  stops.add('upstream', () => upstream.close());
  const run = metrics.timed('search-core', upstream);
  const search = createSearch({
    run,
    keeping,
    meter: people.meter,
    authenticate: access.authenticate,
    admitCaller: (caller) => access.limits.admit(caller),
    admitAddress: (address, policy) => access.limits.admitAddress(address, policy),
    chainAllowance: (address) => access.unpaid.chainAllowance(address),
    readPayment: payments.readPayment,
    searchOnCredits: createIdempotentSearch({
      search: createKeyedSearch(access.credits, { chargesEmpty: config.CHARGE_EMPTY_SEARCHES }),
      replies: access.replies,
      keeping,
      clock,
      waitMs: config.UPSTREAM_TIMEOUT_MS,
    }),
    searchForPayment: payments.searchForPayment,
  });
  const freeSearch = createFreeSearch({
    run,
    budget: freeSearches(clock, config.FREE_SEARCHES_PER_DAY),
    random,
    observe: (outcome, seconds) => metrics.search('free', outcome, seconds),
    clock,
  });
  return { search: observed(search, metrics, log, clock), freeSearch };
}
