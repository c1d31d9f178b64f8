/** Sockets that are held, and servers that are about to close. */
import { request, Agent, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  closeAfterReplies,
  createBoundedServer,
  drain,
} from '../../../gateway/edge/http/server.js';
import { realRandom } from '../../support/ports.js';
import { until } from '../../support/until.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function start(listener: Parameters<typeof createBoundedServer>[0]) {
  const server = createBoundedServer(
    listener,
    {
      headerBytesMax: 16_384,
      headersTimeoutMs: 300,
      requestTimeoutMs: 600,
      keepAliveMs: 60_000,
      connectionsMax: 100,
      trustedProxies: 0,
    },
    realRandom,
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

const openSockets = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

describe('a socket whose client keeps its own end open', () => {
  test.each([
    ['says nothing', ''],
    ['says half a head', 'POST /search HTTP/1.1\r\nHost: x\r\nContent-'],
    ['says half a body', 'POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf'],
    ['says no HTTP', 'what?\r\n\r\n'],
  ])('is let go of at its deadline when it %s', async (_, text) => {
    const { server, port } = await start((incoming) => incoming.resume());
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.resume();
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    socket.write(text);
    await until(async () => (await openSockets(server)) === 1);
    await until(async () => (await openSockets(server)) === 0);
    socket.destroy();
  });
});

describe('a server that is about to close', () => {
  const ask = (port: number, agent: Agent) =>
    new Promise<string | undefined>((resolve, reject) => {
      request({ port, host: '127.0.0.1', agent }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.headers.connection));
      })
        .once('error', reject)
        .end();
    });

  test('says so in every reply, those to requests that ran already included', async () => {
    const held: (() => void)[] = [];
    const { server, port } = await start((_, response) => {
      held.push(() => response.end('done'));
    });
    const agent = new Agent({ keepAlive: true });
    const first = ask(port, agent);
    await until(() => held.length === 1);
    held.pop()?.();
    expect(await first).toBe('keep-alive');

    const running = ask(port, agent);
    await until(() => held.length === 1);
    closeAfterReplies(server);
    held.pop()?.();
    expect(await running).toBe('close');

    const late = ask(port, agent);
    await until(() => held.length === 1);
    held.pop()?.();
    expect(await late).toBe('close');
    await drain(server, 10_000);
    agent.destroy();
  });
});
