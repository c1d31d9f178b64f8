import { afterEach, describe, expect, test } from '@jest/globals';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { createHeadFeed, type HeadFeed } from '../../../gateway/money/chain/head-feed.js';
import { readConfig } from '../../../gateway/wiring/config.js';
import { memoryLog } from '../../support/log.js';
import { realClock, realRandom } from '../../support/ports.js';
import { until } from '../../support/until.js';

/** What an endpoint says to each question, and what it says of its own accord after that. */
interface Manners {
  readonly chainId?: string;
  readonly subscription?: object;
  /** Called once the subscription was answered; returns how to stop it. */
  readonly talk?: (socket: WebSocket) => () => void;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function endpoint(manners: Manners) {
  const state = { manners, connections: 0 };
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket) => {
    state.connections += 1;
    socket.on('message', (data: Buffer) => {
      const { id, method } = JSON.parse(data.toString()) as { id: number; method: string };
      const { chainId = '0x2105', subscription = { result: '0xabc' }, talk } = state.manners;
      const answer = method === 'eth_chainId' ? { result: chainId } : subscription;
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      if (method === 'eth_subscribe' && talk) socket.on('close', talk(socket));
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const cut = () => {
    for (const socket of server.clients) socket.terminate();
  };
  cleanups.push(() => {
    cut();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `ws://user:secret@127.0.0.1:${(server.address() as AddressInfo).port}/key-123`,
    state,
    cut,
  };
}

function feed(url: string, blockTimeMs: number) {
  const log = memoryLog();
  const heads: HeadFeed = createHeadFeed({
    url,
    chainId: 8453,
    blockTimeMs,
    clock: realClock,
    random: realRandom,
    log,
  });
  let heard = 0;
  heads.listen(() => (heard += 1));
  cleanups.push(() => heads.close());
  return { heads, log, heard: () => heard };
}

const head = JSON.stringify({
  jsonrpc: '2.0',
  method: 'eth_subscription',
  params: {
    subscription: '0xabc',
    result: { number: '0x10', hash: `0x${'12'.repeat(32)}`, extra: 1 },
  },
});
const says = (text: string | Buffer, everyMs: number) => (socket: WebSocket) => {
  const timer = setInterval(() => socket.send(text), everyMs);
  return () => clearInterval(timer);
};

test('each head of an endpoint of the right chain is passed on', async () => {
  const { url } = await endpoint({ talk: says(head, 50) });
  const { heads, heard, log } = feed(url, 1000);
  await until(() => heard() >= 3);
  expect(heads.status()).toMatchObject({ isUp: true, losses: 0 });
  expect(heads.status().heads).toBeGreaterThanOrEqual(3);
  expect(log.messages).toEqual(['new blocks are announced']);
});

describe('an endpoint is left, and heads are passed on no more, when it', () => {
  test.each<[string, Manners]>([
    ['serves another chain', { chainId: '0x1', talk: says(head, 50) }],
    ['offers no subscription', { subscription: { error: { code: -32601, message: 'no' } } }],
    ['sends what is not JSON', { talk: says('<html>', 50) }],
    ['sends what is not a head', { talk: says(head.replace('"0x10"', '"soon"'), 50) }],
    ['sends binary messages', { talk: says(Buffer.from(head), 50) }],
    ['sends messages beyond every size', { talk: says(' '.repeat(70_000) + head, 50) }],
    ['says nothing', {}],
    [
      'says nothing any more',
      {
        talk: (socket) => {
          socket.send(head);
          return () => undefined;
        },
      },
    ],
    [
      'floods',
      {
        talk: (socket) => {
          for (let count = 0; count < 100; count += 1) socket.send(head);
          return () => undefined;
        },
      },
    ],
  ])('%s', async (_, manners) => {
    const { url } = await endpoint(manners);
    const { heads, heard, log } = feed(url, 100);
    await until(() => heads.status().losses > 0);
    expect(heads.status().isUp).toBe(false);
    expect(heard()).toBeLessThanOrEqual(20);
    expect(log.messages).toContain('new blocks are not announced; they are polled for');
  });
});

test('a lost connection is made again, and heads come again', async () => {
  const { url, state, cut } = await endpoint({ talk: says(head, 50) });
  const { heads, heard } = feed(url, 1000);
  await until(() => heard() > 0);
  cut();
  await until(() => heads.status().losses > 0);
  const before = heard();
  await until(() => heard() > before);
  expect(heads.status()).toMatchObject({ isUp: true, losses: 1 });
  expect(state.connections).toBe(2);
});

test('an endpoint that cannot be reached is tried again and again, ever more slowly', async () => {
  const { heads, log } = feed('ws://127.0.0.1:1/', 100);
  await until(() => heads.status().losses >= 2);
  expect(log.messages.filter((message) => message.includes('polled for'))).toHaveLength(1);
});

test('closing ends everything at once, also while it connects or rests', async () => {
  const { url } = await endpoint({ talk: says(head, 50) });
  const { heads } = feed(url, 1000);
  await heads.close();
  expect(heads.status()).toEqual({ isUp: false, heads: 0, losses: 0 });
});

test('the address, which may hold a key, is in no log line', async () => {
  const lines: string[] = [];
  const keep = (fields: object, message: string) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const { url } = await endpoint({ talk: says('{}', 20) });
  const heads = createHeadFeed({
    url,
    chainId: 8453,
    blockTimeMs: 1000,
    clock: realClock,
    random: realRandom,
    log: { debug: keep, info: keep, warn: keep, error: keep },
  });
  cleanups.push(() => heads.close());
  await until(() => lines.length >= 2);
  expect(lines.join()).not.toMatch(/secret|key-123/);
});

describe('RPC_WS_URL', () => {
  const mainnet = {
    RPC_URLS: 'https://rpc.example',
    PAY_TO: `0x${'11'.repeat(20)}`,
    RELAYER_PRIVATE_KEY: `0x${'22'.repeat(32)}`,
  };
  const read = (environment: Record<string, string>) => () => readConfig(environment, []);

  test('names the endpoint beside those that are asked', () => {
    const { chain } = read({ ...mainnet, RPC_WS_URL: 'wss://rpc.example/ws' })();
    expect(chain).toMatchObject({ webSocketUrl: 'wss://rpc.example/ws' });
  });

  test.each(['https://rpc.example', 'rpc.example', 'wss://rpc.example/#part'])(
    'is refused when it is no WebSocket address (%s)',
    (RPC_WS_URL) => {
      expect(read({ ...mainnet, RPC_WS_URL })).toThrow(/^RPC_WS_URL: must be a ws\(s\) URL/);
    },
  );

  test('is refused where there is no relayer that could use it', () => {
    const { RELAYER_PRIVATE_KEY: _, ...rest } = mainnet;
    const facilitated = { ...rest, FACILITATOR_URL: 'https://facilitator.example' };
    for (const environment of [facilitated, {}]) {
      const settings = { ...environment, RPC_WS_URL: 'wss://rpc.example' };
      expect(read(settings)).toThrow(/^RPC_WS_URL tells an own relayer/);
    }
  });
});
