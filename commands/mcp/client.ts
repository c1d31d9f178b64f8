import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError, Search402 } from '../../sdk/typescript/src/index.js';
import { FileStore, privateKeyAccount } from '../../sdk/typescript/src/node/index.js';
import { UsageError } from '../command.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings of `npm run mcp:stdio`, as its help shows them. */
export const SETTINGS = `
  SEARCH402_BASE_URL            the service; default: the local one
  SEARCH402_API_KEY             an API key: each search costs a credit of its account

  or, without an account:
  SEARCH402_PRIVATE_KEY         the key of a wallet with USDC on Base, 0x and 64 hex digits
  SEARCH402_PRIVATE_KEY_FILE    or a file that holds it
  SEARCH402_MAX_PER_REQUEST     the most for one search, in USD; default 0.001
  SEARCH402_MAX_PER_DAY         the most within 24 hours, in USD; default 1
  SEARCH402_MAX_TOTAL           the most in the whole payment log, in USD
  SEARCH402_STORE               the payment log; default ~/.search402/payments.jsonl

Without a key and without a wallet, the sample key of a development start (data/dev.json) is used.`;

/**
 * The client through which searches of the tool go: by key, or by wallet within its caps.
 * @throws UsageError with what to set instead.
 */
export function clientFrom(environment: Environment): Search402 {
  try {
    return configured(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) throw new UsageError(error.message);
    throw error;
  }
}

function configured(environment: Environment): Search402 {
  const given = (name: string) => {
    const value = environment[name]?.trim();
    return value === '' ? undefined : value;
  };
  const baseUrl = given('SEARCH402_BASE_URL');
  const apiKey = given('SEARCH402_API_KEY');
  const privateKey = privateKeyFrom(given);
  if (apiKey !== undefined && privateKey !== undefined) {
    throw new UsageError('set an API key or a private key, not both');
  }
  if (privateKey !== undefined) {
    const file = given('SEARCH402_STORE') ?? join(homedir(), '.search402', 'payments.jsonl');
    const payment = {
      maxPerRequest: given('SEARCH402_MAX_PER_REQUEST'),
      maxPerDay: given('SEARCH402_MAX_PER_DAY'),
      maxTotal: given('SEARCH402_MAX_TOTAL'),
      store: new FileStore(file),
    };
    return new Search402({ baseUrl, wallet: privateKeyAccount(privateKey), payment, logger });
  }
  if (apiKey !== undefined) return new Search402({ baseUrl, apiKey, logger });
  const dev = readDevFacts(join(given('DATA_DIR') ?? 'data', 'dev.json'));
  if (!dev) throw new UsageError('set SEARCH402_API_KEY, or a wallet');
  return new Search402({ baseUrl: baseUrl ?? dev.gatewayUrl, apiKey: dev.apiKey, logger });
}

function privateKeyFrom(given: (name: string) => string | undefined): string | undefined {
  const file = given('SEARCH402_PRIVATE_KEY_FILE');
  return file === undefined ? given('SEARCH402_PRIVATE_KEY') : readFileSync(file, 'utf8').trim();
}

function readDevFacts(file: string): { gatewayUrl: string; apiKey: string } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { gatewayUrl: string; apiKey: string };
  } catch {
    return undefined;
  }
}

/** Standard output belongs to the protocol; a person reads standard error. */
const toStderr = (message: string) => void process.stderr.write(`${message}\n`);
const logger = { debug: toStderr, info: toStderr, warn: toStderr, error: toStderr };
