import { ConfigurationError } from './errors.js';
import { isLogLevel, redactingLogger, type Logger, type LogLevel } from './log.js';
import type { PaymentOptions } from './payment/payer.js';
import type { Wallet } from './payment/wallet.js';

const DEFAULT_BASE_URL = 'http://localhost:4020';
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 2;
const RETRIES_MAX = 10;

/** How a client is made. Give an API key or a wallet, not both. */
export interface ClientOptions {
  /** Default: the environment's `SEARCH402_API_KEY`, unless a wallet is given. */
  readonly apiKey?: string | undefined;
  /** A viem account, or an EIP-1193 provider: each search is paid in USDC, without an account. */
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

/** Options with every default filled in. */
export interface Settings {
  readonly apiKey: string | undefined;
  readonly url: string;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
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

/**
 * Fills in the environment and the defaults.
 * @throws {ConfigurationError} when something cannot be right
 */
export function resolveOptions(options: ClientOptions): Settings {
  if (options.apiKey !== undefined && options.wallet !== undefined) {
    throw new ConfigurationError('give an apiKey or a wallet, not both');
  }
  if (options.payment !== undefined && options.wallet === undefined) {
    throw new ConfigurationError('payment options need a wallet');
  }
  const apiKey = options.wallet ? undefined : (options.apiKey ?? environment('SEARCH402_API_KEY'));
  if (apiKey !== undefined && !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new ConfigurationError('the API key is empty or has invalid characters');
  }
  const level = options.logLevel ?? environment('SEARCH402_LOG') ?? 'warn';
  if (!isLogLevel(level)) {
    throw new ConfigurationError('the log level must be off, error, warn, info or debug');
  }
  return {
    apiKey,
    url: searchUrl(options.baseUrl ?? environment('SEARCH402_BASE_URL') ?? DEFAULT_BASE_URL),
    maxRetries: checkRetries(options.maxRetries ?? DEFAULT_RETRIES),
    timeoutMs: checkTimeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    headers: options.headers ?? {},
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    log: redactingLogger(options.logger ?? console, level),
  };
}
