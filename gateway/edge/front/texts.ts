/** The front page for programs: as JSON, and as Markdown (https://llmstxt.org). */
import type { FrontFacts } from './facts.js';

/** What is here and how to use it, as one object. */
export function frontJson(facts: FrontFacts): object {
  const { url, mcp, index } = facts;
  return {
    name: 'search402',
    description: 'Keyword web search for agents. Pay per search with x402, or send an API key.',
    status: facts.isReady ? 'ready' : 'not ready',
    search: {
      method: 'POST',
      url: `${url}/search`,
      body: { query: 'postgres jsonb index', maxResults: 10, maxDescriptionLength: 3000 },
    },
    price: {
      usd: facts.priceUsd,
      amount: facts.priceUnits,
      network: facts.network,
      asset: facts.asset,
      payTo: facts.payTo,
      protocol: 'x402',
    },
    freeCreditsAtSignUp: 1000,
    ...(index && {
      index: {
        pages: index.pages,
        ...(index.changedAt && { changedAt: index.changedAt.toISOString() }),
      },
    }),
    links: {
      openapi: `${url}/openapi.json`,
      docs: `${url}/docs`,
      llms: `${url}/llms.txt`,
      console: `${url}/console`,
      mcp: mcp.open,
      mcpWithAccount: mcp.keyed,
    },
  };
}

/** The same to read: what a model needs to search here. */
export function frontMarkdown({ url, mcp, priceUsd, network, index }: FrontFacts): string {
  const size = index ? ` The index has ${index.pages.toLocaleString('en-US')} pages.` : '';
  return `# search402

> Keyword web search. One search costs $${priceUsd}, paid per request with x402 (USDC on \`${network}\`), without an account; or one credit of an account.${size}

Search: \`POST ${url}/search\` with \`Content-Type: application/json\`

    {"query": "postgres jsonb index", "maxResults": 10, "maxDescriptionLength": 3000}

- \`query\`: 1 to 50 words, 2 to 8 are best. Search is literal: exact words, "quoted phrases", word order. No synonyms, no spelling correction. Leave out articles and questions.
- \`maxResults\`: 1 to 20. \`maxDescriptionLength\`: 1000 to 8000 characters.

The reply: \`{"requestId", "result": {"results": [{"title", "url", "description"}], "searchMetadata", "totalResults"}}\`

## How to pay

- With an account: \`Authorization: Bearer s402_live_…\`. Create a key at ${url}/console/keys. A new account has 1,000 credits.
- Without one: the reply is \`402\` with a quote in the header \`PAYMENT-REQUIRED\` (base64 of JSON). Sign it as an EIP-3009 authorization and send the same request again with the header \`PAYMENT-SIGNATURE\`. Every x402 client does this. A search that fails costs nothing.
- Errors are JSON with \`title\`, \`status\`, \`detail\`, \`requestId\` and \`code\`. After a 503, send the same payment again, never a new one.

## Links

- [OpenAPI](${url}/openapi.json): every operation, parameter and error
- [Documentation](${url}/docs): the same for people, to try out
- [MCP, paying for each call](${mcp.open}): one tool, \`search\`
- [MCP with an account](${mcp.keyed}): sign in through the browser, or send a key
- [x402 resources](${url}/.well-known/x402): what is for sale
- [Console](${url}/console): keys, usage, credits
`;
}

/** For crawlers (RFC 9309): the page and the documentation, not people's accounts. */
export const ROBOTS = [
  'User-agent: *',
  'Disallow: /console',
  'Disallow: /oauth',
  'Disallow: /?q=',
  'Allow: /',
  '',
].join('\n');

/** The paid addresses, as indexes of x402 services read them. */
export function x402Resources({ url }: FrontFacts): object {
  return { version: 1, resources: [`${url}/search`], openapi: `${url}/openapi.json` };
}
