import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket, Server } from 'node:net';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { createApp } from '../../../gateway/edge/app.js';
import { createDoor } from '../../../gateway/edge/http/door.js';
import { clientAddress } from '../../../gateway/edge/http/client-address.js';
import { limitConnections } from '../../../gateway/edge/http/connections.js';
import { refuse } from '../../../gateway/ground/domain/refusal.js';
import { realRandom, silentLog } from '../../support/ports.js';

const STRICT = 'max-age=31536000';

function appOf(isHttps: boolean, trustedProxies: number) {
  const refusal = refuse('payment_required', 'Pay.');
  return createServer(
    createApp({
      homeUrl: 'http://localhost:4020',
      face: 'gateway',
      search: ({ requestId }) => Promise.resolve({ kind: 'refused', requestId, refusal }),
      wire: { challengeHeader: () => 'e30=', receiptHeader: () => 'e30=' },
      bodyLimits: { bytesMax: 1000, timeoutMs: 1000 },
      isHttps,
      trustedProxies,
      health: {
        live: () => undefined,
        ready: () => undefined,
        readyForPayments: () => undefined,
      },
      random: realRandom,
      log: silentLog,
    }),
  );
}

test('browsers are held to https where the service is reached by it, and only there', async () => {
  const ask = async (isHttps: boolean, trustedProxies: number) => {
    const asked = request(appOf(isHttps, trustedProxies)).get('/docs');
    const { headers } = await asked.set('x-forwarded-proto', 'https');
    return headers['strict-transport-security'];
  };
  expect(await ask(true, 0)).toBe(STRICT);
  expect(await ask(false, 1)).toBe(STRICT);
  expect(await ask(false, 0)).toBeUndefined();
});

test.each([
  [0, '203.0.113.9', '192.0.2.1'],
  [1, '203.0.113.9', '203.0.113.9'],
  [1, '198.51.100.1, 203.0.113.9', '203.0.113.9'],
  [2, '198.51.100.1, 203.0.113.9', '198.51.100.1'],
  [2, '203.0.113.9', '203.0.113.9'],
  [1, '', '192.0.2.1'],
])('behind %i proxies, "%s" comes from %s', (proxies, forwarded, expected) => {
  const headers = { 'x-forwarded-for': forwarded };
  const asked = { headers, socket: { remoteAddress: '192.0.2.1' } } as unknown as IncomingMessage;
  expect(clientAddress(asked, proxies)).toBe(expected);
});

/** Connects from an address, as the HTTP server would see it; says whether it was let in. */
function connectFrom(server: Server, remoteAddress: string): boolean {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
  server.emit('connection', socket);
  return !socket.destroyed;
}

test('one address, a /64 and a /48 hold their part of the connections, and few are left a reserve', () => {
  const server = new Server();
  limitConnections(server, 100, 0);
  const letIn = (addresses: readonly string[]) =>
    addresses.filter((address) => connectFrom(server, address)).length;
  const same = (address: string, count: number) => Array.from({ length: count }, () => address);
  expect(letIn(same('192.0.2.1', 50))).toBe(20);
  expect(letIn(same('2001:db8::1', 50))).toBe(20);
  const subnets = Array.from({ length: 90 }, (_, index) => `2001:db8:0:${index + 256}::1`);
  expect(letIn(subnets)).toBe(20); // the /48 now holds 40, of which at most 30 in one /56
  expect(letIn(same('192.0.2.3', 50))).toBe(20); // 80 of 100: only the reserve is left
  expect(letIn(same('192.0.2.4', 50))).toBe(8);
  expect(letIn(same('192.0.2.3', 1))).toBe(0);
});

test('behind proxies only the total of connections counts', () => {
  const server = new Server();
  limitConnections(server, 100, 1);
  const all = Array.from({ length: 90 }, () => connectFrom(server, '192.0.2.1'));
  expect(all.filter(Boolean)).toHaveLength(90);
});

test('of a crowd of payments one is read in each round of the event loop, and eight by channels', () => {
  const rounds: (() => void)[] = [];
  let read: string[] = [];
  const door = createDoor({
    listener: ({ headers }) => void read.push(String(headers['x-name'])),
    work: { objection: () => undefined, bill: () => undefined },
    random: realRandom,
    clock: { defer: (task) => void rounds.push(task) },
    trustedProxies: 0,
  });
  const come = (name: string, scheme: string) => {
    const payment = Buffer.from(JSON.stringify({ accepted: { scheme } })).toString('base64');
    const asked = new IncomingMessage(new Socket());
    Object.assign(asked.headers, { host: 'a', 'payment-signature': payment, 'x-name': name });
    Object.assign(asked, { url: '/search', rawHeaders: ['Host', 'a'], httpVersion: '1.1' });
    door(asked, new ServerResponse(asked));
  };
  for (let one = 0; one < 3; one += 1) come('exact', 'exact');
  for (let one = 0; one < 20; one += 1) come('channel', 'batch-settlement');
  const seen: string[][] = [];
  for (let round = 0; round < 4; round += 1) {
    seen.push(read);
    read = [];
    for (const task of rounds.splice(0)) task();
  }
  const times = (name: string) => seen.map((round) => round.filter((one) => one === name).length);
  expect(times('exact')).toEqual([1, 1, 1, 0]);
  expect(times('channel')).toEqual([8, 8, 4, 0]);
});
