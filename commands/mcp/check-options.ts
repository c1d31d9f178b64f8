import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Given, UsageError } from '../command.js';
import type { CheckOptions } from './check.js';

const TEXT = { type: 'string' } as const;

export const OPTIONS = { url: TEXT, 'api-url': TEXT, 'key-env': TEXT, 'wallet-env': TEXT };

/** @throws UsageError */
export function checkOptions({ values }: Given<typeof OPTIONS>): CheckOptions {
  const dev = values.url === undefined ? readDevFacts() : {};
  const gateway = values.url ?? dev.gatewayUrl;
  const api = values['api-url'] ?? dev.apiUrl ?? gateway;
  if (gateway === undefined || api === undefined) {
    throw new UsageError('data/dev.json not found. Run npm start first, or pass --url.');
  }
  const privateKey = valueOf(values['wallet-env']) ?? dev.payerPrivateKey;
  return {
    gatewayUrl: new URL('/mcp', gateway).href,
    apiUrl: new URL('/mcp', api).href,
    apiKey: valueOf(values['key-env']) ?? dev.apiKey,
    privateKey: privateKey as `0x${string}` | undefined,
  };
}

function valueOf(name: string | undefined): string | undefined {
  return name === undefined ? undefined : process.env[name];
}

function readDevFacts(): Readonly<Record<string, string>> {
  try {
    const text = readFileSync(join(process.env.DATA_DIR ?? 'data', 'dev.json'), 'utf8');
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {};
  }
}
