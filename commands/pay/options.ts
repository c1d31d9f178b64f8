import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { parseUsd, type Hex, type UsdcUnits } from '../../gateway/ground/domain/units.js';
import { type Given, UsageError, wholeNumber } from '../command.js';
import { PayError } from './errors.js';
import { parseUrl } from '../../network/parse-url.js';

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
}

const devSchema = z.object({
  gatewayUrl: z.url(),
  payerPrivateKey: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
});

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/;

export const OPTIONS = {
  url: { type: 'string' },
  'key-env': { type: 'string' },
  'max-usd': { type: 'string', default: '0.01' },
  'max-results': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

/**
 * What one run is asked to do.
 * @throws UsageError for anything that cannot be used, with what to write instead.
 * @throws PayError when no gateway is named and none was started here.
 */
export function payOptions(
  { values, positionals }: Given<typeof OPTIONS>,
  env: Readonly<Record<string, string | undefined>>,
): PayOptions {
  const query = positionals.join(' ').trim();
  if (query === '') throw new UsageError('Enter what to search for: npm run pay -- "some words"');
  const maxUnits = parseUsd(values['max-usd']);
  if (maxUnits === undefined) {
    throw new UsageError('--max-usd takes dollars with up to six decimals, such as 0.01');
  }
  const maxResults = values['max-results'];
  const dev = readDevFacts(join(env.DATA_DIR ?? 'data', 'dev.json'));
  const gatewayUrl = values.url ?? dev?.gatewayUrl;
  if (gatewayUrl === undefined) {
    throw new PayError(
      'unreachable',
      'data/dev.json doesn’t exist. Run npm start first, or pass --url.',
    );
  }
  return {
    query,
    gatewayUrl: httpUrl(gatewayUrl),
    privateKey: privateKey(values['key-env'], env, dev?.payerPrivateKey),
    maxUnits,
    ...(maxResults !== undefined && { maxResults: wholeNumber('max-results', maxResults, 1, 20) }),
  };
}

function httpUrl(text: string): string {
  if (!/^https?:$/.test(parseUrl(text)?.protocol ?? '')) {
    throw new UsageError('--url takes an address such as http://127.0.0.1:4020');
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
  throw new UsageError(
    name === undefined
      ? 'data/dev.json has no development key. Name your own with --key-env.'
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
