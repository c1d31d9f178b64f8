import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExactEvmScheme } from '@x402/evm';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { readConfig } from '../../gateway/wiring/config.js';
import { createLog } from '../../gateway/ground/observe/log.js';
import { startService } from '../../gateway/wiring/service.js';
import { startTestChain, type Payer } from '../support/chain.js';
import { startFakeSearchCore } from '../support/fake-search-core.js';
import { signPayment } from '../support/pay.js';
import {
  delay,
  httpStatus,
  malformed,
  reset,
  resetAfter,
  startRpcProxy,
  truncated,
  type Rule,
} from '../support/rpc-proxy.js';
import { startTestService } from '../support/service.js';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** A service on a chain of its own, reached through two proxies. */
async function startThroughProxies() {
  const chain = await startTestChain();
  stops.push(chain.stop);
  const proxies = [
    await startRpcProxy(chain.rpcUrl, { seed: 1 }),
    await startRpcProxy(chain.rpcUrl, { seed: 2 }),
  ];
  stops.push(...proxies.map((proxy) => proxy.stop));
  const core = await startFakeSearchCore();
  stops.push(() => core.stop());
  const dataDir = mkdtempSync(join(tmpdir(), 'search402-rpc-'));
  const config = readConfig(
    {
      PORT: '0',
      API_PORT: '0',
      OPS_PORT: '0',
      DATA_DIR: dataDir,
      LOG_LEVEL: 'silent',
      SEARCH_CORE_URL: core.url,
      RPC_URLS: proxies.map((proxy) => proxy.url).join(','),
      DRAIN_DELAY_MS: '0',
      PAY_TO: chain.payTo,
      RELAYER_PRIVATE_KEY: chain.relayerPrivateKey,
    },
    [],
  );
  const service = await startService(config, createLog('silent'), (error) => {
    throw error;
  });
  stops.push(async () => {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return { chain, proxies, url: `${service.facts.gatewayUrl}/search` };
}

const search = (headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ query: 'lighthouse' }),
});

/** Pays one search; what is pending or unavailable is asked again with the same payment. */
async function paidSearch(url: string, payer: Payer): Promise<number> {
  const insist: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    for (;;) {
      const response = await fetch(request.clone());
      if (response.status !== 503) return response;
      await response.arrayBuffer();
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  const client = new x402Client().register('eip155:8453', new ExactEvmScheme(payer.account));
  return (await wrapFetchWithPayment(insist, client)(url, search())).status;
}

describe('the service behind RPC endpoints', () => {
  test('of which every fifth exchange goes wrong settles each payment once', async () => {
    const { chain, proxies, url } = await startThroughProxies();
    const faults = [reset, resetAfter, malformed, truncated, delay(400), httpStatus(502)];
    const rules: Rule[] = faults.map((fault) => ({ fault, probability: 0.035 }));
    for (const proxy of proxies) proxy.rules(rules);
    const payers = await chain.newPayers(40, { usdc: 1_000n });
    const statuses = await Promise.all(payers.map((payer) => paidSearch(url, payer)));
    expect(statuses).toEqual(payers.map(() => 200));
    for (const payer of payers) {
      const transfers = await chain.transfers(payer.address);
      expect(transfers).toMatchObject([{ to: chain.payTo, value: 50n }]);
    }
    expect(await chain.balance(chain.payTo)).toBe(50n * 40n);
  });

  test('that fall silent refuses paid searches, not keyed ones, and takes them up again', async () => {
    const service = await startTestService();
    stops.push(service.stop);
    const key = { authorization: `Bearer ${service.dev.apiKey}` };
    const note = readFileSync(join(service.dataDir, 'chain', 'anvil.json'), 'utf8');
    const { pid } = JSON.parse(note) as { pid: number };
    const payment = { 'payment-signature': await signPayment(service, { query: 'lighthouse' }) };

    process.kill(pid, 'SIGSTOP');
    try {
      let refusal = await service.search({ query: 'lighthouse' }, payment);
      expect(refusal.status).toBe(503);
      const keyed = async () => {
        const started = performance.now();
        expect((await service.search({ query: 'lighthouse' }, key)).status).toBe(200);
        return performance.now() - started;
      };
      const times: number[] = [];
      for (let i = 0; i < 20; i++) times.push(await keyed());
      // What waits for the chain waits for seconds each time; a busy machine holds up some of them.
      expect(times.toSorted((a, b) => a - b)[times.length / 2]).toBeLessThan(1_000);

      for (let i = 0; i < 20; i++) {
        refusal = await service.search({ query: 'lighthouse' }, payment);
        expect(await refusal.json()).toMatchObject({ status: 503, code: 'chain_unavailable' });
      }
      const started = performance.now();
      await service.search({ query: 'lighthouse' }, payment);
      expect(performance.now() - started).toBeLessThan(10_000);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    let status = 503;
    for (let i = 0; i < 200 && status === 503; i++) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      status = (await service.search({ query: 'lighthouse' }, payment)).status;
    }
    expect(status).toBe(200);
  });
});
