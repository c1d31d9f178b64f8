/** Searches over several search-cores: who is asked, and what happens when one is lost or frozen. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { chooseNode } from '../../../gateway/edge/http/upstream-order.js';
import { expectRefusal } from '../../support/errors.js';
import {
  type FakeSearchCore,
  goodAnswer,
  startFakeSearchCore,
} from '../../support/fake-search-core.js';
import { startTestService, type TestService } from '../../support/service.js';
import { until } from '../../support/until.js';

let cores: FakeSearchCore[];
let service: TestService;
let bearer: { authorization: string };

beforeAll(async () => {
  cores = await Promise.all([startFakeSearchCore(), startFakeSearchCore(), startFakeSearchCore()]);
  const urls = cores.map(({ url }) => url).join(', ');
  const env = { SEARCH_CORE_URLS: urls, UPSTREAM_TIMEOUT_MS: '4000' };
  service = await startTestService({ env });
  bearer = { authorization: `Bearer ${service.dev.apiKey}` };
});
afterAll(async () => {
  await service.stop();
  await Promise.all(cores.map((core) => core.stop()));
});
afterEach(async () => {
  for (const core of cores) {
    core.isFrozen = false;
    core.isReady = true;
    core.behave((request, response) => response.end(goodAnswer(request)));
  }
  await until(async () => (await left()).length === 0);
});

/** A search, sent again while the key's rate refuses it: no node hears of that. */
async function search(query: string, signal?: AbortSignal): Promise<Response> {
  for (;;) {
    const response = await service.search({ query }, bearer, signal ? { signal } : {});
    if (response.status !== 429) return response;
    await sleep(1_000 * Number(response.headers.get('retry-after')));
  }
}

/** The nodes that get no searches, by the gateway's metrics. */
async function left(): Promise<string[]> {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
  const lines = text.matchAll(/^search402_search_node_ready\{node="([^"]*)"\} 0$/gmu);
  return [...lines].map(([, name = '']) => name);
}

const hostOf = ({ url }: FakeSearchCore): string => new URL(url).host;
const counts = (): number[] => cores.map(({ seen }) => seen.length);

/** The core that a search goes to while all are well. */
async function homeOf(query: string): Promise<FakeSearchCore> {
  const before = counts();
  expect((await search(query)).status).toBe(200);
  const at = counts().findIndex((count, index) => count > (before[index] ?? 0));
  const core = cores[at];
  if (!core) throw new Error('nobody was asked');
  return core;
}

describe('searches', () => {
  test('are spread, and the same search goes to the same node', async () => {
    const queries = Array.from({ length: 40 }, (_, n) => `query ${n}`);
    const homes: FakeSearchCore[] = [];
    for (const query of queries) homes.push(await homeOf(query));
    expect(new Set(homes).size).toBe(cores.length);
    for (const [at, query] of queries.slice(0, 10).entries()) {
      expect(await homeOf(query)).toBe(homes[at]);
    }
  });

  test.each([
    ['says 500', 500],
    ['is full', 503],
  ])('are answered by another node where one %s', async (_what, status) => {
    const home = await homeOf('tried again');
    home.behave((_request, response) => response.writeHead(status).end());
    expect((await search('tried again')).status).toBe(200);
  });

  test('are answered by another node where one hangs up, or answers something else', async () => {
    const home = await homeOf('hung up');
    home.behave((request) => request.socket.destroy());
    expect((await search('hung up')).status).toBe(200);
    await until(async () => (await left()).length === 0);
    home.behave((_request, response) => response.end('{"requestId":"another"}'));
    expect((await search('hung up')).status).toBe(200);
  });

  test('that a node calls wrong are not tried on another', async () => {
    const home = await homeOf('wrong');
    home.behave((_request, response) => response.writeHead(422).end('{}'));
    const before = counts();
    await expectRefusal(await search('wrong'), 'upstream_error');
    expect(counts().reduce((sum, count) => sum + count)).toBe(
      before.reduce((sum, count) => sum + count) + 1,
    );
    expect(await left()).toEqual([]);
  });

  test('that the caller left are not tried on another', async () => {
    const home = await homeOf('left');
    const leaving = new AbortController();
    const before = counts();
    let isDropped = false;
    home.behave((request) => {
      request.socket.once('close', () => (isDropped = true));
      leaving.abort();
    });
    await expect(search('left', leaving.signal)).rejects.toThrow(/abort/iu);
    await until(() => isDropped);
    home.behave((request, response) => response.end(goodAnswer(request)));
    expect((await search('after it')).status).toBe(200);
    expect(counts().reduce((sum, count) => sum + count)).toBe(
      before.reduce((sum, count) => sum + count) + 2,
    );
    expect(await left()).toEqual([]);
  });
});

describe('a node', () => {
  test('that freezes costs one search half of its time, is left out, and comes back', async () => {
    const home = await homeOf('frozen');
    home.isFrozen = true;
    const asked = home.seen.length;
    // Answered within the deadline, or it would be a 504.
    expect((await search('frozen')).status).toBe(200);
    expect(await left()).toEqual([hostOf(home)]);
    const tries = home.seen.length;
    expect(tries).toBeLessThanOrEqual(asked + 1);
    const replies = await Promise.all(Array.from({ length: 20 }, (_, n) => search(`while ${n}`)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await search('frozen')).status).toBe(200);
    expect(home.seen).toHaveLength(tries);
    const ready = await fetch(`${service.opsUrl}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({
      parts: {
        searchCore: {
          ready: true,
          detail: expect.stringContaining(`2 of 3 nodes serve (${hostOf(home)}`),
        },
      },
    });
    home.isFrozen = false;
    await until(async () => (await left()).length === 0);
    expect(await homeOf('frozen')).toBe(home);
  });

  test('that is lost makes no search fail, and gets its own searches again when it is back', async () => {
    const home = await homeOf('lost');
    const at = cores.indexOf(home);
    await home.stop();
    const replies = await Promise.all(Array.from({ length: 40 }, (_, n) => search(`then ${n}`)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    await until(async () => (await left()).includes(hostOf(home)));
    cores[at] = await startFakeSearchCore(Number(new URL(home.url).port));
    await until(async () => (await left()).length === 0);
    expect(await homeOf('lost')).toBe(cores[at]);
  });

  test('that says that it is not ready gets no searches', async () => {
    const home = await homeOf('not ready');
    home.isReady = false;
    await until(async () => (await left()).includes(hostOf(home)));
    const asked = home.seen.length;
    expect((await search('not ready')).status).toBe(200);
    expect(home.seen).toHaveLength(asked);
  });
});

test('503 and never 500 where every node is lost, and the readiness says so at once', async () => {
  const ports = cores.map(({ url }) => Number(new URL(url).port));
  await Promise.all(cores.map((core) => core.stop()));
  const refused = await search('nobody');
  await expectRefusal(refused, 'service_unavailable');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 503);
  cores = await Promise.all(ports.map((port) => startFakeSearchCore(port)));
  await until(async () => (await fetch(`${service.opsUrl}/readyz`)).status === 200);
});

describe('the choice of a node', () => {
  const nodes = ['a:1', 'b:1', 'c:1', 'd:1'].map((name) => ({ name, inFlight: 0 }));
  const keys = Array.from({ length: 400 }, (_, n) => Buffer.from(`{"query":"number ${n}"}`));

  test('moves the searches of a node that goes, and no others', () => {
    const rest = nodes.slice(1);
    const moved = keys.filter((key) => chooseNode(nodes, key) !== chooseNode(rest, key));
    expect(moved.every((key) => chooseNode(nodes, key)?.name === 'a:1')).toBe(true);
    expect(moved.length).toBeGreaterThan(60);
    expect(moved.length).toBeLessThan(140);
  });

  test('gives nobody more than a quarter above its share of what is in flight', () => {
    const busy = nodes.map(({ name }) => ({ name, inFlight: 0 }));
    for (let n = 0; n < 80; n++) {
      const chosen = chooseNode(busy, Buffer.from('the same'));
      if (chosen) chosen.inFlight += 1;
    }
    expect(Math.max(...busy.map(({ inFlight }) => inFlight))).toBe(25);
  });
});
