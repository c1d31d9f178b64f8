import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseUsd, type Hex, type UsdcUnits } from '../../gateway/domain/units.js';
import { PayError } from './errors.js';

export const HELP = `Searches, and pays for it: the gateway quotes a price, this program signs for it.

  npm run pay -- "viem sign typed data"

  --url URL           the gateway; default: the local one, from data/dev.json
  --key-env NAME      the environment variable that holds the payer's private key (0x…);
                      default: the worthless development key from data/dev.json
  --max-usd AMOUNT    the most that may be signed away for this search; default 0.01
  --max-results N     1 to 20
  --json              one JSON object instead of text
  --help              this text

It signs at most one payment. When the outcome of that payment is not known, it sends the same one
again, for up to a minute; it never signs a second one.
`;

/** What one run is asked to do. */
export interface PayOptions {
  readonly query: string;
  /** Without a slash at its end. */
  readonly gatewayUrl: string;
  readonly privateKey: Hex;
  readonly maxUnits: UsdcUnits;
  readonly maxResults?: number;
  readonly isJson: boolean;
}

const devSchema = z.object({
  gatewayUrl: z.url(),
  payerPrivateKey: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
});

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/;

/**
 * Reads the command line. Undefined when help is asked for.
 * @throws PayError for anything that cannot be used, with what to write instead.
 */
export function readOptions(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): PayOptions | undefined {
  const { values, positionals } = parse(args);
  if (values.help === true) return undefined;
  const query = positionals.join(' ').trim();
  if (query === '') throw new PayError('usage', 'Say what to search: npm run pay -- "some words"');
  const maxUnits = parseUsd(values['max-usd'] ?? '0.01');
  if (maxUnits === undefined) {
    throw new PayError('usage', '--max-usd takes dollars with up to six decimals, such as 0.01');
  }
  const maxResults = values['max-results'];
  if (maxResults !== undefined && !/^[0-9]{1,2}$/.test(maxResults)) {
    throw new PayError('usage', '--max-results takes a whole number from 1 to 20');
  }
  const dev = readDevFacts(join(env.DATA_DIR ?? 'data', 'dev.json'));
  const gatewayUrl = values.url ?? dev?.gatewayUrl;
  if (gatewayUrl === undefined) {
    throw new PayError('unreachable', 'There is no data/dev.json: run npm start first, or --url.');
  }
  return {
    query,
    gatewayUrl: httpUrl(gatewayUrl),
    privateKey: privateKey(values['key-env'], env, dev?.payerPrivateKey),
    maxUnits,
    isJson: values.json ?? false,
    ...(maxResults !== undefined && { maxResults: Number(maxResults) }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        'key-env': { type: 'string' },
        'max-usd': { type: 'string' },
        'max-results': { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new PayError('usage', error instanceof Error ? error.message : String(error));
  }
}

function httpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new PayError('usage', '--url takes an address such as http://127.0.0.1:4020');
  }
  return text.replace(/\/+$/, '');
}

function privateKey(
  name: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  devKey: string | undefined,
): Hex {
  const key = name === undefined ? devKey : env[name]?.trim();
  if (key !== undefined && PRIVATE_KEY.test(key)) return key as Hex;
  throw new PayError(
    'usage',
    name === undefined
      ? 'There is no development key in data/dev.json: name your own with --key-env.'
      : `The variable ${name} must hold a private key: 0x and 64 hex digits.`,
  );
}

function readDevFacts(file: string) {
  try {
    return devSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined; // Nothing was started here yet; the caller says what then.
  }
}
