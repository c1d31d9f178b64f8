import { afterEach, describe, expect, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { refuse } from '../../../gateway/ground/domain/refusal.js';
import {
  GOOD_KEY,
  page,
  startMcp,
  type ServiceOptions,
  type ServiceUnderTest,
} from '../../support/mcp.js';

const running: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one.close();
});

async function given(options: ServiceOptions = {}): Promise<ServiceUnderTest> {
  const service = await startMcp(options);
  running.push(service);
  return service;
}

const identity = { name: 'test', version: '1' };
const headersOf = (key?: string) => ({
  requestInit: { headers: key === undefined ? {} : { authorization: key } },
});

/** What each official client looks like to these tests. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown }[] }>;
  callTool(params: object): Promise<object>;
}

async function connectV2(
  url: string,
  key?: string,
  versionNegotiation: { mode: 'auto' | 'legacy' } = { mode: 'auto' },
): Promise<AnyClient> {
  const client = new Client(identity, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headersOf(key)));
  running.push(client);
  return client;
}

async function connectV1(url: string, key?: string): Promise<AnyClient> {
  const client = new ClientV1(identity);
  // Their own transport does not fit their own interface under exactOptionalPropertyTypes.
  const transport = new TransportV1(new URL(url), headersOf(key));
  await client.connect(transport);
  running.push(client);
  return client;
}

describe.each([
  ['version 2, revision 2026-07-28', connectV2],
  ['version 2, revision 2025-11-25', (url, key) => connectV2(url, key, { mode: 'legacy' })],
  ['version 1', connectV1],
] as [string, (url: string, key?: string) => Promise<AnyClient>][])(
  'the official client of %s',
  (_name, connect) => {
    test('searches with a key and gets structured and readable results', async () => {
      const service = await given({ face: 'api' });
      const client = await connect(service.url, GOOD_KEY);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['search']);
      const result = await client.callTool({ name: 'search', arguments: { query: 'red fox' } });
      expect(result).toMatchObject({
        structuredContent: { result: { results: [{ title: 'red fox' }], totalResults: 1 } },
        content: [{ type: 'text', text: expect.stringContaining('1. red fox\nhttps://pages.') }],
      });
      expect(service.searches).toEqual([
        { query: 'red fox', maxResults: 10, maxDescriptionLength: 3000 },
      ]);
    });

    test('gets the payment challenge as an error result, pays, and gets the receipt', async () => {
      const service = await given();
      const client = await connect(service.url);
      const asked = await client.callTool({ name: 'search', arguments: { query: 'fox' } });
      const required = {
        x402Version: 2,
        error: 'Payment required',
        resource: { url: 'https://gateway.example/search' },
        accepts: [{ scheme: 'exact', network: 'eip155:8453', amount: '50' }],
      };
      expect(asked).toMatchObject({ isError: true, structuredContent: required });
      const [text] = (asked as { content: { text: string }[] }).content;
      expect(JSON.parse(text?.text ?? '')).toMatchObject(required);
      expect(service.searches).toEqual([]);

      const payment = { x402Version: 2, payload: { signature: '0x00' } };
      const params = { name: 'search', arguments: { query: 'fox' } };
      const paid = await client.callTool({ ...params, _meta: { 'x402/payment': payment } });
      expect(paid).toMatchObject({
        structuredContent: { result: { totalResults: 1 } },
        _meta: { 'x402/payment-response': { success: true } },
      });
      expect(service.payments.map((value) => atob(value))).toEqual([JSON.stringify(payment)]);
    });

    test('hears of every refusal as an error result with the ErrorResponse of HTTP', async () => {
      const service = await given({
        answer: () => refuse('upstream_timeout', 'The search took too long.'),
      });
      const client = await connect(service.url, GOOD_KEY);
      const failed = await client.callTool({ name: 'search', arguments: { query: 'fox' } });
      const error = { status: 504, code: 'upstream_timeout', title: 'Gateway Timeout' };
      expect(failed).toMatchObject({ isError: true, structuredContent: error });
      const wrong = await client.callTool({ name: 'search', arguments: { prompt: 'fox' } });
      const unsupported = { status: 422, code: 'unsupported_parameter' };
      expect(wrong).toMatchObject({ isError: true, structuredContent: unsupported });
      const mistyped = { query: 'fox', maxResults: 'ten' };
      const typed = await client.callTool({ name: 'search', arguments: mistyped });
      const invalid = { status: 422, code: 'invalid_parameter' };
      expect(typed).toMatchObject({ isError: true, structuredContent: invalid });
    });

    test('is never charged by a key and a payment at once', async () => {
      const service = await given();
      const client = await connect(service.url, GOOD_KEY);
      const _meta = { 'x402/payment': { x402Version: 2 } };
      const both = await client.callTool({ name: 'search', arguments: { query: 'fox' }, _meta });
      const error = { code: 'ambiguous_credentials' };
      expect(both).toMatchObject({ isError: true, structuredContent: error });
      expect(service.searches).toEqual([]);
    });

    test('gets at most the budget, and is told when passages were shortened', async () => {
      const long = 'word '.repeat(1600);
      const results = Array.from({ length: 20 }, (_, index) => page(`page ${index}`, long));
      const service = await given({ answer: () => ({ results }) });
      const client = await connect(service.url, GOOD_KEY);
      const asked = { query: 'fox', maxResults: 20, maxDescriptionLength: 8000 };
      const result = await client.callTool({ name: 'search', arguments: asked });
      expect(JSON.stringify(result).length).toBeLessThan(75_000);
      const { content, structuredContent } = result as {
        content: { text: string }[];
        structuredContent: { result: { results: { description: string }[] } };
      };
      expect(structuredContent.result.results).toHaveLength(20);
      expect(content[0]?.text).toContain('Passages were shortened to 1600 characters');
    });
  },
);

test('the tool says what a model has to know: bounds, guidance, and what it does', async () => {
  const { tools } = await (await connectV2((await given()).url)).listTools();
  expect(tools).toMatchObject([
    {
      name: 'search',
      inputSchema: {
        properties: {
          query: { type: 'string', description: expect.stringContaining('1 to 50') },
          maxResults: { type: 'integer', minimum: 1, maximum: 20, default: 10 },
          maxDescriptionLength: { minimum: 1000, maximum: 8000, default: 3000 },
        },
        required: ['query'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
    },
  ]);
  const { description } = tools[0] as { description?: string };
  for (const advice of ['2 to 8', 'lexical', 'Leave out articles', 'synonyms', 'several simple']) {
    expect(description).toContain(advice);
  }
});

test('a default call that finds the longest passages fits whole', async () => {
  const results = Array.from({ length: 10 }, (_, index) => page(`${index}`, 'x'.repeat(3000)));
  const service = await given({ answer: () => ({ results }) });
  const client = await connectV2(service.url, GOOD_KEY);
  const found = await client.callTool({ name: 'search', arguments: { query: 'fox' } });
  expect(found).toMatchObject({ structuredContent: { result: { results } } });
});

test('a caller beyond its rate is told to wait, and for how long', async () => {
  const service = await given({ isLimited: true });
  for (const key of [GOOD_KEY, undefined]) {
    const client = await connectV2(service.url, key);
    const refused = await client.callTool({ name: 'search', arguments: { query: 'fox' } });
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: {
        status: 429,
        code: 'rate_limited',
        detail: expect.stringMatching(/2 s/),
      },
    });
  }
  expect(service.searches).toEqual([]);
});

test('only clients that can tell them apart see an output schema', async () => {
  const service = await given();
  const schemaOf = async (client: AnyClient) => (await client.listTools()).tools[0]?.outputSchema;
  expect(await schemaOf(await connectV2(service.url))).toMatchObject({
    type: 'object',
    properties: { requestId: {}, result: {} },
  });
  expect(await schemaOf(await connectV1(service.url))).toBeUndefined();
});

test('a hundred clients at once all get their own answers', async () => {
  const service = await given({ face: 'api' });
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const client = await (index % 2 ? connectV1 : connectV2)(service.url, GOOD_KEY);
      return client.callTool({ name: 'search', arguments: { query: `fox ${index}` } });
    }),
  );
  answers.forEach((answer, index) => {
    const results = [{ title: `fox ${index}` }];
    expect(answer).toMatchObject({ structuredContent: { result: { results } } });
  });
});

test('an account without credits is told so, and searches again once it has some', async () => {
  const service = await given({ credits: 1 });
  const client = await connectV2(service.url, GOOD_KEY);
  const call = () => client.callTool({ name: 'search', arguments: { query: 'fox' } });
  expect(await call()).toMatchObject({ structuredContent: { result: { totalResults: 1 } } });
  expect(await call()).toMatchObject({
    isError: true,
    structuredContent: { status: 402, code: 'insufficient_credits' },
  });
  expect(service.searches).toHaveLength(1);
});
