/** What a gateway stands on is looked at while nobody asks for anything. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestService, type TestService } from '../support/service.js';
import { startFakeSearchCore, type FakeSearchCore } from '../support/fake-search-core.js';
import { startTcpRelay } from '../support/tcp-relay.js';
import { until } from '../support/until.js';

let core: FakeSearchCore;
let relay: Awaited<ReturnType<typeof startTcpRelay>>;
let service: TestService;
beforeAll(async () => {
  core = await startFakeSearchCore();
  relay = await startTcpRelay(core.url);
  service = await startTestService({ env: { SEARCH_CORE_URL: `http://${relay.host}` } });
});
afterAll(async () => {
  await service.stop();
  await relay.stop();
  await core.stop();
});

/** The process of the local chain. */
async function anvilOf({ dataDir }: TestService): Promise<number> {
  const note = await readFile(join(dataDir, 'chain', 'anvil.json'), 'utf8');
  return (JSON.parse(note) as { pid: number }).pid;
}

const readiness = async (path = '/readyz') => {
  const response = await fetch(`${service.opsUrl}${path}`);
  const body = (await response.json()) as {
    parts: Record<string, { ready: boolean; detail?: string }>;
  };
  return { status: response.status, ...body };
};
const metric = async (name: string) => {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^search402_${name} (\\S+)$`, 'm').exec(text)?.[1]);
};

test('a search-core that is frozen is found, and said, before anybody searches', async () => {
  await until(async () => (await readiness()).status === 200);
  relay.isSilent = true;
  await until(async () => (await readiness()).status === 503);
  expect((await readiness()).parts.searchCore).toEqual({
    ready: false,
    detail: 'search-core did not answer in 2000 ms',
  });
  expect(await metric('search_core_ready')).toBe(0);
  relay.cut();
  relay.isSilent = false;
  await until(async () => (await readiness()).status === 200);
  expect(await metric('search_core_ready')).toBe(1);
});

test('a search-core that is dead, or has no index, is found, too', async () => {
  relay.isDown = true;
  await until(async () => (await readiness()).status === 503);
  expect((await readiness()).parts.searchCore?.detail).toMatch(/^search-core does not answer/);
  relay.isDown = false;
  core.isReady = false;
  await until(
    async () =>
      (await readiness()).parts.searchCore?.detail ===
      'search-core says that it is not ready (503)',
  );
  core.isReady = true;
  await until(async () => (await readiness()).status === 200);
});

test('a chain that is frozen closes payments, and keys are served', async () => {
  const pid = await anvilOf(service);
  process.kill(pid, 'SIGSTOP');
  try {
    await until(async () => (await readiness('/readyz/payments')).status === 503);
    const { status, parts } = await readiness();
    expect(status).toBe(200);
    expect(parts.chain).toMatchObject({ ready: false, detail: expect.any(String) });
    expect(await metric('rpc_ready')).toBe(0);
    expect((await fetch(`${service.gatewayUrl}/readyz/payments`)).status).toBe(503);
    const authorization = `Bearer ${service.dev.apiKey}`;
    expect((await service.search({ query: 'lighthouse' }, { authorization })).status).toBe(200);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(async () => (await readiness('/readyz/payments')).status === 200);
});
