/** `search402 mcp`, as hosts start it: a process, with the official clients on its other end. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createBridge } from '../../sdk/typescript/src/cli/mcp-bridge.js';
import { GOOD_KEY, startMcp, type ServiceUnderTest } from '../support/mcp.js';

const PROGRAM = join(import.meta.dirname, '../../sdk/typescript/src/cli/main.js');
const KEY = GOOD_KEY.replace('Bearer ', '');
const SEARCH = { name: 'search', arguments: { query: 'kestrel cliffs', maxCharacters: 500 } };

let service: ServiceUnderTest;
beforeAll(async () => {
  service = await startMcp({ face: 'api' });
});
afterAll(() => service.close());

const started = (apiKey: string) => ({
  command: process.execPath,
  args: [PROGRAM, 'mcp'],
  env: { SEARCH402_API_KEY: apiKey, SEARCH402_BASE_URL: service.url.replace(/\/mcp$/, '') },
  stderr: 'ignore' as const,
});

describe('a host that starts the program', () => {
  test.each(['auto', 'legacy'] as const)('searches, %s', async (mode) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport(started(KEY)));
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'search', title: 'Web search' }]);
    const found = await client.callTool(SEARCH);
    expect(found).toMatchObject({
      content: [{ type: 'text', text: expect.stringContaining('1. kestrel cliffs') }],
      structuredContent: { result: { totalResults: 1 } },
    });
    await client.close();
  });

  test('searches with the client of version 1, several at once', async () => {
    const client = new ClientV1({ name: 'test', version: '1' });
    await client.connect(new TransportV1(started(KEY)));
    const queries = ['heron', 'plover', 'dunlin'];
    const found = await Promise.all(
      queries.map((query) => client.callTool({ name: 'search', arguments: { query } })),
    );
    expect(found.map((one) => one.structuredContent)).toMatchObject(
      queries.map((title) => ({ result: { results: [{ title }] } })),
    );
    await client.close();
  });

  test('is told in the service’s words that its key is wrong', async () => {
    const client = new ClientV1({ name: 'test', version: '1' });
    await expect(client.connect(new TransportV1(started('s402_live_bad')))).rejects.toThrow(
      'Not a key.',
    );
    await client.close();
  });
});

describe('the bridge', () => {
  /** Answers as `reply` says; requests are kept. */
  let other: Server;
  let url: string;
  let reply: { status: number; type: string; body: string | undefined };
  let arrived: () => void;
  beforeAll(async () => {
    other = createServer((request, response) => {
      request.resume();
      request.on('end', () => {
        const { status, type, body } = reply;
        arrived();
        if (body !== undefined) {
          response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body);
        }
      });
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
  });
  afterAll(async () => {
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  });

  const PING = '{"jsonrpc":"2.0","id":"a","method":"ping"}';
  const bridge = (timeoutMs = 60_000) => {
    const lines: string[] = [];
    const complaints: string[] = [];
    const parts = { url, headers: {}, fetch, timeoutMs };
    const toHost = (line: string) => void lines.push(line);
    const made = createBridge({ ...parts, toHost, complain: (text) => void complaints.push(text) });
    return { ...made, lines, complaints };
  };
  const answering = (body: string | undefined, type = 'application/json', status = 200) => {
    reply = { status, type, body };
    return new Promise<void>((resolve) => (arrived = resolve));
  };

  test.each([
    ['a page', '<h1>Bad gateway</h1>', 'text/html', 502, 'answered 502'],
    ['a redirect', '', 'text/plain', 307, 'answered 307'],
    ['nothing', '', 'application/json', 200, 'ended before its answer'],
    ['a stream that ends', 'data: {"jsonrpc"', 'text/event-stream', 200, 'ended before its answer'],
  ])('answers a request when the service sends %s', async (_, body, type, status, words) => {
    void answering(body, type, status);
    const { take, lines } = bridge();
    await take(PING);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        jsonrpc: '2.0',
        id: 'a',
        error: { code: -32_000, message: expect.stringContaining(words) },
      },
    ]);
  });

  test('keeps each message on one line, however the stream breaks it', async () => {
    const event =
      'event: message\r\ndata: {"jsonrpc":"2.0",\r\ndata: "id":"a","result":{}}\r\n\r\n';
    void answering(`: hello\n\n${event}`, 'text/event-stream');
    const { take, lines } = bridge();
    await take(PING);
    expect(lines).toEqual(['{"jsonrpc":"2.0","id":"a","result":{}}']);
  });

  test('answers nothing to what asks nothing, and complains when it fails', async () => {
    void answering('', 'text/plain', 500);
    const { take, lines, complaints } = bridge();
    await take('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await take('  ');
    expect(lines).toEqual([]);
    expect(complaints).toEqual([expect.stringContaining('answered 500')]);
  });

  test('says so when a line is no JSON', async () => {
    const { take, lines } = bridge();
    await take('hello');
    await take('5');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('-32700');
  });

  test('hangs up on what the host gives up, and answers it no more', async () => {
    const asked = answering(undefined);
    const { take, lines } = bridge();
    const done = take(PING);
    await asked;
    await take('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}');
    await done;
    expect(lines).toEqual([]);
  });

  test('ends what the host listens to when the host has gone', async () => {
    const asked = answering(undefined);
    const { take, endStreams, lines } = bridge(1);
    const done = take('{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}');
    await asked;
    endStreams();
    await done;
    expect(lines).toEqual([]);
  });

  test('does not wait for ever', async () => {
    void answering(undefined);
    const { take, lines } = bridge(1);
    await take(PING);
    expect(lines).toEqual([expect.stringContaining('no complete answer within 1 ms')]);
  });
});
