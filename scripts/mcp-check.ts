// npm run mcp:check: connects to a running service by each way in and shows what happened.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkWaysIn, type CheckOptions } from './mcp/check.js';

const HELP = `Connects to the /mcp of a running service by each way in, and says what happened.

  npm run mcp:check

  --url URL            the gateway; default: the local one, from data/dev.json
  --api-url URL        the API, for keys and sign-in; default: the local one
  --key-env NAME       the environment variable that holds an API key; costs one credit
  --wallet-env NAME    the one that holds a wallet's private key; costs one search, at most a cent

On a development start the sample key and the worthless wallet are used.
`;

const ADDRESS = { type: 'string' } as const;
const MARKS = { works: '✓', broken: '✗', 'not tried': '-' } as const;

function readOptions(): CheckOptions | undefined {
  const { values } = parseArgs({
    options: {
      ...{ url: ADDRESS, 'api-url': ADDRESS, 'key-env': ADDRESS, 'wallet-env': ADDRESS },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) return undefined;
  const dev = values.url === undefined ? readDevFacts() : {};
  const gateway = values.url ?? dev.gatewayUrl;
  const api = values['api-url'] ?? dev.apiUrl ?? gateway;
  if (gateway === undefined || api === undefined) {
    throw new Error('There is no data/dev.json: run npm start first, or give --url.');
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

try {
  const options = readOptions();
  if (!options) console.log(HELP);
  else {
    const findings = await checkWaysIn(options);
    for (const { way, verdict, detail } of findings) {
      console.log(`${MARKS[verdict]} ${way}: ${verdict}. ${detail}`);
    }
    if (findings.some(({ verdict }) => verdict === 'broken')) process.exitCode = 1;
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
