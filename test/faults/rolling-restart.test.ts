/** A rolling restart behind a balancer, as an operator does it: nobody notices. */
import { Agent, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RunningGateway } from '../support/gateway-process.js';
import { type Answered, type Fleet, startFleet } from '../support/keyed-fleet.js';
import { realClock } from '../support/ports.js';
import { until } from '../support/until.js';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet.stop());

/** A balancer that asks who is ready ten times a second, keeps connections, and retries nothing. */
async function startBalancer() {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const members = new Map<RunningGateway, { isReady: boolean }>();
  let turn = 0;
  const state = { isOver: false };
  const look = async (gateway: RunningGateway, member: { isReady: boolean }) => {
    member.isReady = await fetch(`${gateway.opsUrl}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  };
  const watching = (async () => {
    while (!state.isOver) {
      await Promise.all([...members].map(([gateway, member]) => look(gateway, member)));
      await realClock.sleep(100);
    }
  })();
  const server = createServer((incoming, response) => {
    const ready = [...members].filter(([, { isReady }]) => isReady);
    const [chosen] = ready[(turn += 1) % Math.max(1, ready.length)] ?? [];
    if (!chosen) {
      response.writeHead(502).end('nobody is ready');
      return;
    }
    const { hostname, port } = new URL(chosen.url);
    const { method, headers, url: path } = incoming;
    const onward = ask({ hostname, port, path, method, headers, agent }, (answer) => {
      // What the gateway says of its connection is not for the client's.
      const { connection: _, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(response);
    });
    onward.once('error', () => response.headersSent || response.writeHead(502).end('broken'));
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: async (gateway: RunningGateway) => {
      const member = { isReady: false };
      members.set(gateway, member);
      await until(() => member.isReady);
    },
    remove: (gateway: RunningGateway) => members.delete(gateway),
    stop: async () => {
      state.isOver = true;
      await watching;
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Searches of the test; `ROLLING_SEARCHES=10000` for more. */
const SEARCHES_MIN = Number(process.env.ROLLING_SEARCHES ?? 300);

test('two gateways restarted one after the other fail no request', async () => {
  const settings = { DRAIN_DELAY_MS: '5000' };
  const balancer = await startBalancer();
  let running = [await fleet.start(settings), await fleet.start(settings)];
  for (const gateway of running) await balancer.add(gateway);
  const answers: Answered[] = [];
  const state = { isOver: false };
  const search = async () => {
    while (!state.isOver) {
      answers.push(await fleet.search(balancer.url));
      await realClock.sleep(10);
    }
  };
  const searching = Promise.all(Array.from({ length: 6 }, search));
  await until(() => answers.length > 50);
  for (let round = 0; answers.length < SEARCHES_MIN || round < 2; round += 1) {
    const [old, other] = running;
    if (!old || !other) throw new Error('two gateways run');
    const fresh = await fleet.start(settings);
    await balancer.add(fresh);
    old.process.kill('SIGTERM');
    expect(await old.exited).toBe(0);
    balancer.remove(old);
    running = [other, fresh];
    const before = answers.length;
    await until(() => answers.length > before + 50);
  }
  state.isOver = true;
  await searching;
  await balancer.stop();
  const failed = answers.filter(({ status }) => status !== 200);
  expect(failed).toEqual([]);
  // The gateways that run book what they have answered four times a second.
  await until(async () => (await fleet.credits()).spent >= answers.length);
  expect((await fleet.credits()).spent).toBe(answers.length);
});
