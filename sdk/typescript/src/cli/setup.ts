import { readFileSync, statSync } from 'node:fs';
import type { ClientOptions } from '../options.js';
import { defaultStorePath } from '../node/default-store.js';
import { FileStore } from '../node/file-store.js';
import { privateKeyAccount } from '../node/private-key.js';
import type { AccountWallet } from '../payment/wallet.js';
import { wholeNumber, type Invocation } from './args.js';
import { UsageError, type Io } from './io.js';

/** What every command tells its client. */
export function commonOptions(invocation: Invocation, { env }: Io): ClientOptions {
  const seconds = wholeNumber(invocation, 'timeout');
  return {
    baseUrl: invocation.values['base-url'] ?? env.SEARCH402_BASE_URL,
    maxRetries: wholeNumber(invocation, 'max-retries'),
    timeoutMs: seconds === undefined ? undefined : seconds * 1000,
    logLevel: 'error',
  };
}

/** A secret from a file or the environment; never from the command line, where others see it. */
function secret(
  { values }: Invocation,
  { env }: Io,
  option: 'key-file' | 'wallet-file',
  variable: string,
): string | undefined {
  const file = values[option];
  try {
    const text = file === undefined ? env[variable] : readFileSync(file, 'utf8');
    const value = text?.trim();
    return value === '' ? undefined : value;
  } catch {
    throw new UsageError(`--${option}: ${String(file)} cannot be read`);
  }
}

export function findApiKey(invocation: Invocation, io: Io): string | undefined {
  return secret(invocation, io, 'key-file', 'SEARCH402_API_KEY');
}

export function findWallet(invocation: Invocation, io: Io): AccountWallet | undefined {
  const key = secret(invocation, io, 'wallet-file', 'SEARCH402_PRIVATE_KEY');
  return key ? privateKeyAccount(key) : undefined;
}

/** Whether others than its owner may read a file; false where the platform knows no such thing. */
export function isReadByOthers(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0;
}

export function findStore({ values }: Invocation, { env }: Io): FileStore {
  return new FileStore(values.store ?? defaultStorePath(env));
}
