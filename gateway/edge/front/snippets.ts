/** Calls to paste: each runs as it stands, but for the key. */
import type { FrontFacts } from './facts.js';

export interface Snippet {
  /** Of the tab and its panel. */
  readonly id: string;
  readonly name: string;
  /** What has to be there before, and what comes of it. */
  readonly about: string;
  readonly code: string;
}

const QUERY = '{"query":"postgres jsonb index"}';

export function snippets({ url, mcp, network, priceUsd }: FrontFacts): readonly Snippet[] {
  return [
    {
      id: 'curl',
      name: 'curl',
      about: 'Without a key you get 402 and the quote. With one, the results.',
      code: [
        `curl -i ${url}/search \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '${QUERY}'`,
        '',
        '# the same with a key from the console',
        `curl ${url}/search \\`,
        `  -H "Authorization: Bearer $SEARCH402_API_KEY" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '${QUERY}'`,
      ].join('\n'),
    },
    {
      id: 'typescript',
      name: 'TypeScript',
      about: `npm install @x402/fetch @x402/evm viem. Pays $${priceUsd} from the wallet of WALLET_KEY.`,
      code: [
        `import { wrapFetchWithPayment, x402Client } from '@x402/fetch';`,
        `import { ExactEvmScheme } from '@x402/evm';`,
        `import { privateKeyToAccount } from 'viem/accounts';`,
        '',
        'const account = privateKeyToAccount(process.env.WALLET_KEY);',
        `const wallet = new x402Client().register('${network}', new ExactEvmScheme(account));`,
        'const pay = wrapFetchWithPayment(fetch, wallet);',
        '',
        `const reply = await pay('${url}/search', {`,
        `  method: 'POST',`,
        `  headers: { 'Content-Type': 'application/json' },`,
        `  body: JSON.stringify({ query: 'postgres jsonb index' }),`,
        '});',
        'console.log((await reply.json()).result.results);',
      ].join('\n'),
    },
    {
      id: 'python',
      name: 'Python',
      about: 'Nothing to install. SEARCH402_API_KEY is a key from the console.',
      code: [
        'import json, os, urllib.request',
        '',
        'request = urllib.request.Request(',
        `    "${url}/search",`,
        '    json.dumps({"query": "postgres jsonb index"}).encode(),',
        '    {',
        '        "Authorization": "Bearer " + os.environ["SEARCH402_API_KEY"],',
        '        "Content-Type": "application/json",',
        '    },',
        ')',
        'with urllib.request.urlopen(request) as reply:',
        '    for page in json.load(reply)["result"]["results"]:',
        '        print(page["title"], page["url"])',
      ].join('\n'),
    },
    {
      id: 'mcp',
      name: 'MCP',
      about: 'The first signs in through your browser. The second pays for each call instead.',
      code: [
        '# Claude Code',
        `claude mcp add --transport http search402 ${mcp.keyed}`,
        '',
        '# any client that pays by itself',
        JSON.stringify({ mcpServers: { search402: { type: 'http', url: mcp.open } } }, null, 2),
      ].join('\n'),
    },
  ];
}
