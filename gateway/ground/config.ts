import { z } from 'zod';
import { parseAddress, parseUsd, type Address, type UsdcUnits } from './domain/units.js';

/**
 * Every setting of the gateway: its environment variable, what it means with its unit, and its
 * default. `.env.example` and the README's table are checked against this list.
 */
const integer = (min: number, max: number, standard: number) =>
  z
    .string()
    .regex(/^[0-9]{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
    .default(standard);

const switched = (standard: 'on' | 'off') =>
  z
    .enum(['on', 'off'], 'must be "on" or "off"')
    .default(standard)
    .transform((value) => value === 'on');

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

const rpcUrls = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(httpUrl).min(1).max(16));

const webSocketUrl = z
  .url({ protocol: /^wss?$/, error: 'must be a ws(s) URL' })
  .refine((url) => !url.includes('#'), 'must be a ws(s) URL without a fragment');

const account = z.string().transform((text, context): Address => {
  const parsed = parseAddress(text);
  if (parsed) return parsed;
  context.addIssue('must be an address (0x and 40 hex digits)');
  return z.NEVER;
});

const usd = z
  .string()
  .default('0.00005')
  .transform((text, context): UsdcUnits => {
    const parsed = parseUsd(text);
    if (parsed !== undefined && parsed > 0n) return parsed;
    context.addIssue('must be dollars above 0 with at most 6 decimals, such as 0.00005');
    return z.NEVER;
  });

const accounts = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((part) => part.trim() || []))
  .pipe(z.array(account).max(64));

const SECRET = '(?:[0-9a-fA-F]{2}){32,64}';
/** One secret, or the new one and older ones that still count. */
const secrets = z
  .string()
  .regex(
    new RegExp(`^${SECRET}(?:,${SECRET}){0,3}$`),
    'must be 64 to 128 hex digits, or several such',
  )
  .transform((text) => text.split(',').map((one) => Uint8Array.from(Buffer.from(one, 'hex'))));

const privateKey = z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits');

const settings = {
  /** Address to listen on. */
  HOST: z.string().default('127.0.0.1'),
  /** Port of the gateway: keys or payments. */
  PORT: integer(0, 65_535, 4020),
  /** Port of the API: keys only. */
  API_PORT: integer(0, 65_535, 4021),
  /** Port of the operator's face: metrics and health; always on loopback unless OPS_HOST says. */
  OPS_PORT: integer(0, 65_535, 4022),
  OPS_HOST: z.string().default('127.0.0.1'),
  /** The gateway's public address; it is the `resource` of every quote. */
  PUBLIC_URL: httpUrl.optional(),
  /** The API's public address, where tool clients sign in: its `/mcp` is what tokens are for. */
  API_PUBLIC_URL: httpUrl.optional(),
  /** Hosts whose web pages may call `/mcp`, comma-separated; those of the service always may. */
  MCP_ORIGIN_HOSTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((part) => part.trim() || [])),
  /** Proxies in front whose X-Forwarded-For is believed. */
  TRUSTED_PROXIES: integer(0, 10, 0),
  /** Folder for the database, the index, and the local chain. */
  DATA_DIR: z.string().min(1).default('data'),
  /** `postgres://…`; without it SQLite in DATA_DIR. */
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  /** File with the key that secrets in the database are sealed with: 64 hex digits. Without it
   * `sealing.key` in DATA_DIR, made at the first start. */
  SEALING_KEY_FILE: z.string().min(1).optional(),
  /** Mail server for people's sign-up and invitations: `smtp://user:password@host:port`; without it
   * mail stays in the database. */
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://')
    .optional(),
  /** Sender of that mail. */
  MAIL_FROM: z.string().min(3).max(320).default('search402 <search402@localhost>'),
  /** E-mail addresses of those who see the console's operator page, comma-separated. */
  OPERATOR_EMAILS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((part) => part.trim() || [])),
  /** Whether people can sign in to the console with an Ethereum wallet. */
  WALLET_SIGN_IN: switched('on'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).optional(),

  /** JSON-RPC endpoints of Base, comma-separated. */
  RPC_URLS: rpcUrls.optional(),
  /** WebSocket endpoint of Base that announces new blocks, so that they need not be polled for. */
  RPC_WS_URL: webSocketUrl.optional(),
  /** The address that receives the payments. */
  PAY_TO: account.optional(),
  /** Key that sends the transfers and pays their gas; or a file that holds it. */
  RELAYER_PRIVATE_KEY: privateKey.optional(),
  RELAYER_PRIVATE_KEY_FILE: z.string().min(1).optional(),
  /** File with the passphrase, where RELAYER_PRIVATE_KEY_FILE is an encrypted key file. */
  RELAYER_PASSPHRASE_FILE: z.string().min(1).optional(),
  /** A signer that holds the keys: JSON-RPC `eth_signTransaction`, as Web3Signer and Clef have it. */
  RELAYER_SIGNER_URL: httpUrl.optional(),
  /** The accounts that it signs for, comma-separated. */
  RELAYER_ADDRESSES: accounts,
  /** A facilitator that moves the money in place of an own relayer (x402 `/verify`, `/settle`). */
  FACILITATOR_URL: httpUrl.optional(),
  /** Its bearer token, where it wants one. */
  FACILITATOR_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable characters without spaces')
    .optional(),
  /** Milliseconds for one settlement by it. */
  FACILITATOR_TIMEOUT_MS: integer(1000, 180_000, 30_000),
  /** Price of a search paid per request, in USD. */
  PRICE_USD: usd,
  /** Whether the live cost of settlement is added to PRICE_USD, as signed quotes. */
  PRICE_COVERS_GAS: switched('off'),
  /** Chainlink's feed of ETH in USD, read instead of ETH_USD where the price covers the gas. */
  ETH_USD_FEED: account.optional(),
  /** Signs quotes; gateways of one installation share it. Without it one is drawn at each start. */
  QUOTE_SECRET: secrets.optional(),
  /** Whether wallets that are contracts may pay and sign in (ERC-1271, ERC-6492, EIP-7702). */
  CONTRACT_WALLETS: switched('on'),
  /** Gas that all payers with code together may burn in an hour; they are refused above it. */
  CODE_PAYER_GAS_PER_HOUR: integer(0, 1_000_000_000, 5_000_000),
  /** Factories whose wallets the relayer deploys when they first pay (ERC-6492), comma-separated. */
  EIP6492_FACTORIES: accounts,
  /** ETH in USD, to warn at start when the price cannot cover the gas. */
  ETH_USD: z.coerce.number().positive().max(1e7).default(3000),
  /** Seconds for which a quote and the authorization signed for it are valid. */
  PAYMENT_TIMEOUT_SECONDS: integer(30, 86_400, 300),
  /** Blocks, the transaction's own included, until a payment counts as settled. */
  CONFIRMATIONS: integer(1, 64, 1),
  /** Whether a transfer in a block that is still being made (a flashblock) is enough to reply. */
  PRECONFIRMATIONS: switched('off'),
  /** Milliseconds a caller waits for its settlement before it is told `settlement_pending`. */
  SETTLEMENT_WAIT_MS: integer(100, 120_000, 20_000),
  /** Seconds for which the reply to a settled payment can be fetched again. */
  REPLY_RETENTION_SECONDS: integer(60, 604_800, 3600),
  /** Whether version 1 of x402 is spoken as well. */
  X402_V1: switched('off'),

  /** Where search-core answers: `http://host:port` or `unix:/path`; without it one is started. */
  SEARCH_CORE_URL: z
    .string()
    .regex(/^(https?:\/\/|unix:\/)/, 'must be http:// or unix:/')
    .optional(),
  /** Milliseconds for one search. */
  UPSTREAM_TIMEOUT_MS: integer(50, 60_000, 5000),
  /** Bytes of a request body. */
  BODY_BYTES_MAX: integer(1024, 1_048_576, 16_384),
  /** Milliseconds until a request body must have come. */
  BODY_TIMEOUT_MS: integer(100, 60_000, 10_000),
  /** Open connections of each face. */
  CONNECTIONS_MAX: integer(10, 100_000, 5000),
  /** Requests a second without a key, from one network address; and what they may cost. */
  ADDRESS_RATE: integer(1, 1_000_000, 100),
  /** Milliseconds that running requests get at shutdown. */
  DRAIN_TIMEOUT_MS: integer(0, 300_000, 25_000),

  /** Port of the local development chain; 0 takes a free one. */
  DEV_CHAIN_PORT: integer(0, 65_535, 0),
  /** Milliseconds between blocks of the local development chain. */
  DEV_BLOCK_TIME_MS: integer(100, 60_000, 1000),
} as const;

const schema = z.object(settings);

/** The names of all settings. */
export const SETTING_NAMES = Object.keys(settings);

type Settings = z.infer<typeof schema>;

/** Where the relayers' keys are. */
export type RelayerConfig =
  | { readonly key: string }
  | { readonly file: string; readonly passphraseFile?: string }
  | { readonly url: string; readonly addresses: readonly Address[] };

/** Somebody else's relayer. */
export interface FacilitatorConfig {
  readonly facilitatorUrl: string;
  readonly token?: string;
  readonly timeoutMs: number;
}

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
> {
  /** Unless set, `warn` where a person watches a development start, and `info` elsewhere. */
  readonly LOG_LEVEL: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly chain: ChainConfig;
}

/** The settings cannot be used; `problems` has one sentence for each fault and no values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

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
    ...rest
  } = parsed.data;
  const chain = chainConfig(parsed.data, forkUrlOf(args));
  const LOG_LEVEL = rest.LOG_LEVEL ?? (chain.kind === 'development' ? 'warn' : 'info');
  return { ...rest, LOG_LEVEL, chain };
}

const RELAYER = 'RELAYER_PRIVATE_KEY, RELAYER_PRIVATE_KEY_FILE or RELAYER_SIGNER_URL';
const MOVER =
  'RELAYER_PRIVATE_KEY, RELAYER_PRIVATE_KEY_FILE, RELAYER_SIGNER_URL or FACILITATOR_URL';

/** The one place of the relayers' keys that is named, if one is. */
function relayerConfig(values: Settings): RelayerConfig | undefined {
  const { RELAYER_PRIVATE_KEY: key, RELAYER_PRIVATE_KEY_FILE: file } = values;
  const { RELAYER_SIGNER_URL: url, RELAYER_ADDRESSES: addresses } = values;
  const { RELAYER_PASSPHRASE_FILE: passphraseFile } = values;
  if ([key, file, url].filter((one) => one !== undefined).length > 1) {
    throw new ConfigError([`${RELAYER}: give one of these, not several.`]);
  }
  if (key !== undefined) return { key };
  if (file !== undefined) return { file, ...(passphraseFile !== undefined && { passphraseFile }) };
  if (url === undefined) return undefined;
  if (addresses.length === 0) {
    throw new ConfigError([
      'RELAYER_ADDRESSES is missing: the accounts that the signer signs for.',
    ]);
  }
  return { url, addresses };
}

/** The facilitator that is named, if one is. */
function facilitatorConfig(values: Settings): FacilitatorConfig | undefined {
  const { FACILITATOR_URL: facilitatorUrl, FACILITATOR_TOKEN: token } = values;
  if (facilitatorUrl !== undefined) {
    const timeoutMs = values.FACILITATOR_TIMEOUT_MS;
    return { facilitatorUrl, ...(token !== undefined && { token }), timeoutMs };
  }
  if (token === undefined) return undefined;
  throw new ConfigError(['FACILITATOR_TOKEN belongs to FACILITATOR_URL, which is missing.']);
}

/** Who moves the money, if anybody is named: one of the two. */
function moverConfig(values: Settings): RelayerConfig | FacilitatorConfig | undefined {
  const [relayer, facilitator] = [relayerConfig(values), facilitatorConfig(values)];
  if (relayer && facilitator) {
    throw new ConfigError([`${RELAYER}: leave it out, or leave out FACILITATOR_URL.`]);
  }
  if (facilitator && values.PRECONFIRMATIONS) {
    throw new ConfigError([
      'PRECONFIRMATIONS=on is for own relayers: leave it out, or leave out FACILITATOR_URL.',
    ]);
  }
  return relayer ?? facilitator;
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
