import type { DevFacts } from '../dev/facts.js';
import { namedUrl } from './own-url.js';

export interface BannerFacts {
  readonly gatewayUrl: string;
  readonly apiUrl: string;
  readonly opsUrl: string;
  /** Where hosts search in other services' languages; absent unless FACES_PORT is set. */
  readonly facesUrl?: string;
  readonly dataDir: string;
  readonly database: string;
  readonly priceUsd: string;
  /** What the operator should change about this installation. */
  readonly warnings: readonly string[];
  /** Present on the local development chain. */
  readonly dev?: DevFacts;
}

/** What a person reads after `npm start`: where it is, what to try next, where the data lives. */
export function banner(facts: BannerFacts): string {
  const gateway = namedUrl(facts.gatewayUrl);
  const { facesUrl } = facts;
  const lines = [
    '',
    `  search402 is running at ${gateway}`,
    '',
    `    start here         ${gateway}/`,
    `    console            ${gateway}/console`,
    `    documentation      ${gateway}/docs`,
    `    tool protocol      ${gateway}/mcp`,
    '',
    `    keys or payments   ${gateway}/search`,
    `    keys only          ${namedUrl(facts.apiUrl)}/search`,
    ...(facesUrl === undefined
      ? []
      : [`    for other hosts    ${namedUrl(facesUrl)}  (SearXNG, Tavily, Brave)`]),
    `    metrics, health    ${namedUrl(facts.opsUrl)}/metrics, /readyz`,
    `    price              ${facts.priceUsd} USD a search`,
    `    data               ${facts.dataDir} (database: ${facts.database})`,
    ...facts.warnings.flatMap((warning) => ['', `  WARNING: ${warning}`]),
    ...(facts.dev ? development(gateway, facts.dev) : []),
    '',
    '  Stop with Ctrl-C. Running searches and payments finish first.',
    '',
  ];
  return lines.join('\n');
}

function development(gatewayUrl: string, dev: DevFacts): string[] {
  const search = `curl -s ${gatewayUrl}/search -H 'content-type: application/json'`;
  return [
    '',
    '  Try, in another terminal:',
    '',
    '    # without a key: 402 and what a search costs',
    `    ${search} -d '{"query":"viem sign typed data"}' -i`,
    '',
    '    # pay for a search with the local throw-away wallet',
    '    npm run pay -- "viem sign typed data"',
    '',
    '    # with the sample key: one credit',
    `    ${search} -H 'authorization: Bearer ${dev.apiKey}' -d '{"query":"viem sign typed data"}'`,
    '',
    `  Local development chain (chain id ${dev.chainId}) at ${dev.rpcUrl}.`,
    '  Its money and keys are worthless. Scripts find them in dev.json in the data folder.',
  ];
}
