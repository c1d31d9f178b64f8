import { ConfigurationError } from './errors.js';
import { isLogLevel, redactingLogger, type Logger, type LogLevel } from './log.js';
import type { PaymentOptions } from './payment/payer.js';
import { checkWallet, type Wallet } from './payment/wallet.js';
import { userAgent } from './user-agent.js';

const DEFAULT_BASE_URL = 'http://localhost:4020';
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 2;
const RETRIES_MAX = 10;

/** Names that generated SDKs have for some of the options; the client takes either. */
interface Spellings {
  /** The same as `baseUrl`. */
  readonly baseURL?: string | undefined;
  /** The same as `timeoutMs`: milliseconds. */
  readonly timeout?: number | undefined;
  /** The same as `headers`. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
}

/** How a client is made. Give an API key or a wallet, not both. */
export interface ClientOptions extends Spellings {
  /** Default: the environment's `SEARCH402_API_KEY`, unless a wallet is given. */
  readonly apiKey?: string | undefined;
  /** Pays for each search in USDC, without an account: see {@link Wallet}. */
  readonly wallet?: Wallet | undefined;
  /** Caps, allow-lists, the store and hooks; only with a wallet. */
  readonly payment?: PaymentOptions | undefined;
  /** Default: the environment's `SEARCH402_BASE_URL`, else `http://localhost:4020`. */
  readonly baseUrl?: string | undefined;
  /** Retries after the first try, 0 to 10; default 2. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds for each try, its body included; default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Added to every request; they cannot replace the credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Default: the console. Secrets are removed before it is called. */
  readonly logger?: Logger | undefined;
  /** Default: the environment's `SEARCH402_LOG`, else `warn`. */
  readonly logLevel?: LogLevel | undefined;
}

/** What {@link Search402.withOptions} may change: all but what pays. */
export type ChangedOptions = Omit<ClientOptions, 'wallet' | 'payment'>;

/** Options with every default filled in. */
export interface Settings {
  readonly apiKey: string | undefined;
  readonly url: string;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  /** Where the log goes, and from which level. */
  readonly logger: Logger;
  readonly logLevel: LogLevel;
  /** The same without secrets: what the client writes to. */
  readonly log: Logger;
}

/** An environment variable; undefined in browsers and when it is empty. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const value = process?.env?.[name]?.trim();
  return value === '' ? undefined : value;
}

/** @throws {ConfigurationError} */
export function checkRetries(maxRetries: number): number {
  if (Number.isInteger(maxRetries) && maxRetries >= 0 && maxRetries <= RETRIES_MAX) {
    return maxRetries;
  }
  throw new ConfigurationError(`maxRetries must be a whole number from 0 to ${RETRIES_MAX}`);
}

/** @throws {ConfigurationError} */
export function checkTimeout(timeoutMs: number): number {
  if (timeoutMs > 0 && timeoutMs <= 0x7fffffff) return timeoutMs;
  throw new ConfigurationError('timeoutMs must be above 0 and at most 2147483647');
}

function searchUrl(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new ConfigurationError(`baseUrl "${baseUrl}" is not a URL`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new ConfigurationError('baseUrl must start with https:// or http://');
  }
  if (url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new ConfigurationError('baseUrl must not have a user, query or fragment');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/search`;
}

/** The value that two spellings of one option have. */
function oneOf<T>(names: string, given: T | undefined, other: T | undefined): T | undefined {
  if (given === undefined || other === undefined) return given ?? other;
  throw new ConfigurationError(`${names} are one option: give it once`);
}

/** Milliseconds for each try, in whichever spelling. */
export function timeoutOf({ timeoutMs, timeout }: Pick<ClientOptions, 'timeout' | 'timeoutMs'>) {
  return oneOf('timeoutMs and timeout', timeoutMs, timeout);
}

/**
 * Fills in the environment and the defaults.
 * @throws {ConfigurationError} when something cannot be right
 */
export function resolveOptions(options: ClientOptions): Settings {
  const { wallet, payment } = options;
  if (wallet !== undefined) checkWallet(wallet);
  if (options.apiKey !== undefined && wallet !== undefined) {
    throw new ConfigurationError('give an apiKey or a wallet, not both');
  }
  if (payment !== undefined && wallet === undefined) {
    throw new ConfigurationError('payment options need a wallet');
  }
  const apiKey = wallet ? undefined : (options.apiKey ?? environment('SEARCH402_API_KEY'));
  const hasAddress = (options.baseUrl ?? options.baseURL) !== undefined;
  const baseUrl = hasAddress ? options.baseUrl : environment('SEARCH402_BASE_URL');
  const logLevel = options.logLevel ?? (environment('SEARCH402_LOG') as LogLevel | undefined);
  return changeSettings(defaults(), { ...options, apiKey, baseUrl, logLevel });
}

function defaults(): Settings {
  const agent = userAgent();
  return {
    apiKey: undefined,
    url: searchUrl(DEFAULT_BASE_URL),
    maxRetries: DEFAULT_RETRIES,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    headers: agent === undefined ? {} : { 'user-agent': agent },
    fetch: (input, init) => globalThis.fetch(input, init),
    ...loggingTo(console, 'warn'),
  };
}

/**
 * Settings with some of them changed. Headers are added to those that there are.
 * @throws {ConfigurationError} when a change cannot be right
 */
export function changeSettings(before: Settings, changed: ChangedOptions): Settings {
  const baseUrl = oneOf('baseUrl and baseURL', changed.baseUrl, changed.baseURL);
  const headers = oneOf('headers and defaultHeaders', changed.headers, changed.defaultHeaders);
  return {
    apiKey: changed.apiKey === undefined ? before.apiKey : checkApiKey(changed.apiKey),
    url: baseUrl === undefined ? before.url : searchUrl(baseUrl),
    maxRetries: checkRetries(changed.maxRetries ?? before.maxRetries),
    timeoutMs: checkTimeout(timeoutOf(changed) ?? before.timeoutMs),
    headers: { ...before.headers, ...lowerCased(headers ?? {}) },
    fetch: changed.fetch ?? before.fetch,
    ...loggingTo(changed.logger ?? before.logger, changed.logLevel ?? before.logLevel),
  };
}

function checkApiKey(apiKey: string): string {
  if (/^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new ConfigurationError('the API key is empty or has invalid characters');
}

function loggingTo(
  logger: Logger,
  logLevel: LogLevel,
): Pick<Settings, 'logger' | 'logLevel' | 'log'> {
  if (isLogLevel(logLevel)) return { logger, logLevel, log: redactingLogger(logger, logLevel) };
  throw new ConfigurationError('the log level must be off, error, warn, info or debug');
}

/** Header names in lower case, so that a caller's spelling cannot double a credential. */
export function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries) as Record<string, string>;
}
