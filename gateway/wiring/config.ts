import { z } from 'zod';
import { CUSTOMER_SETTINGS } from '../customers/settings.js';
import { DEV_SETTINGS } from '../dev/settings.js';
import { EDGE_SETTINGS } from '../edge/settings.js';
import type { Address } from '../ground/domain/units.js';
import { ConfigError, httpUrl } from '../ground/setting-kinds.js';
import { GROUND_SETTINGS } from '../ground/settings.js';
import {
  MOVER,
  moverConfig,
  type FacilitatorConfig,
  type RelayerConfig,
} from '../money/mover-config.js';
import { MONEY_SETTINGS } from '../money/settings.js';
import { SEARCH_SETTINGS } from '../search/settings.js';

/**
 * All settings of the gateway. Each wing has its own: the environment variable, what it means with
 * its unit, and its default. `.env.example` and the README's table are checked against this list.
 */
const settings = {
  ...EDGE_SETTINGS,
  ...GROUND_SETTINGS,
  ...CUSTOMER_SETTINGS,
  ...MONEY_SETTINGS,
  ...SEARCH_SETTINGS,
  ...DEV_SETTINGS,
} as const;

const schema = z.object(settings);

/** The names of all settings. */
export const SETTING_NAMES = Object.keys(settings);

type Settings = z.infer<typeof schema>;

/** Where payments go: a chain of the operator's choice, or one made for development. */
export type ChainConfig =
  | {
      readonly kind: 'mainnet';
      readonly rpcUrls: readonly string[];
      /** Announces new blocks, in addition to them. */
      readonly webSocketUrl?: string;
      readonly payTo: Address;
      /** Who moves the money: an own relayer, or a facilitator. */
      readonly mover: RelayerConfig | FacilitatorConfig;
    }
  | { readonly kind: 'development'; readonly forkUrl?: string };

export interface Config extends Omit<
  Settings,
  | 'RPC_URLS'
  | 'RPC_WS_URL'
  | 'PAY_TO'
  | 'RELAYER_PRIVATE_KEY'
  | 'RELAYER_PRIVATE_KEY_FILE'
  | 'FACILITATOR_TOKEN'
  | 'LOG_LEVEL'
  | 'DRAIN_DELAY_MS'
  | 'SEARCH_CORE_URL'
  | 'SEARCH_CORE_URLS'
> {
  /** Unless set, `warn` where a person watches a development start, and `info` elsewhere. */
  readonly LOG_LEVEL: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly DRAIN_DELAY_MS: number;
  /** The search-cores that run elsewhere; none: one is started. */
  readonly searchCoreUrls: readonly string[];
  readonly chain: ChainConfig;
}

/** Balancers ask about once a second, and want two or three answers. */
const DRAIN_DELAY_MS = 5_000;

/**
 * Parses the environment and the command line once. Empty variables count as unset.
 * @throws ConfigError with every fault at once.
 */
export function readConfig(environment: NodeJS.ProcessEnv, args: readonly string[]): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
    );
  }
  const {
    RPC_URLS,
    RPC_WS_URL,
    PAY_TO,
    RELAYER_PRIVATE_KEY,
    RELAYER_PRIVATE_KEY_FILE,
    FACILITATOR_TOKEN,
    SEARCH_CORE_URL,
    SEARCH_CORE_URLS,
    ...rest
  } = parsed.data;
  if (SEARCH_CORE_URL !== undefined && SEARCH_CORE_URLS !== undefined) {
    throw new ConfigError(['SEARCH_CORE_URL and SEARCH_CORE_URLS are both set: leave out one.']);
  }
  const searchCoreUrls =
    SEARCH_CORE_URLS ?? (SEARCH_CORE_URL === undefined ? [] : [SEARCH_CORE_URL]);
  const chain = chainConfig(parsed.data, forkUrlOf(args));
  const LOG_LEVEL = rest.LOG_LEVEL ?? (chain.kind === 'development' ? 'warn' : 'info');
  const drainDelayMs = rest.DRAIN_DELAY_MS ?? (chain.kind === 'development' ? 0 : DRAIN_DELAY_MS);
  return { ...rest, LOG_LEVEL, DRAIN_DELAY_MS: drainDelayMs, searchCoreUrls, chain };
}

function chainConfig(values: Settings, forkUrl: string | undefined): ChainConfig {
  const { RPC_URLS, RPC_WS_URL: webSocketUrl, PAY_TO } = values;
  const mover = moverConfig(values);
  if (webSocketUrl !== undefined && (!mover || 'facilitatorUrl' in mover)) {
    throw new ConfigError([
      'RPC_WS_URL tells an own relayer when blocks come, and none is set: leave it out.',
    ]);
  }
  const given = { RPC_URLS, PAY_TO, [MOVER]: mover };
  const missing = Object.entries(given).flatMap(([name, value]) => (value ? [] : [name]));
  if (missing.length === Object.keys(given).length) {
    return { kind: 'development', ...(forkUrl !== undefined && { forkUrl }) };
  }
  if (RPC_URLS && PAY_TO && mover) {
    if (forkUrl !== undefined) {
      throw new ConfigError([
        '--fork starts a local chain, but RPC_URLS, PAY_TO and a relayer or facilitator name a real one: ' +
          'leave out one of the two.',
      ]);
    }
    const announced = webSocketUrl !== undefined && { webSocketUrl };
    return { kind: 'mainnet', rpcUrls: RPC_URLS, ...announced, payTo: PAY_TO, mover };
  }
  throw new ConfigError(
    missing.map(
      (name) =>
        `${name} is missing. A real chain needs RPC_URLS, PAY_TO and ${MOVER}; ` +
        'with none of them a local development chain is started.',
    ),
  );
}

/** The command line is `--fork URL` or nothing. */
function forkUrlOf(args: readonly string[]): string | undefined {
  const [flag, url, ...others] = args;
  if (flag === undefined) return undefined;
  const unknown = flag === '--fork' ? others[0] : flag;
  if (unknown !== undefined) {
    throw new ConfigError([`${unknown} is not known; npm start -- --help says what there is.`]);
  }
  if (url !== undefined && httpUrl.safeParse(url).success) return url;
  throw new ConfigError(['--fork needs the http(s) URL of an RPC endpoint of Base.']);
}
