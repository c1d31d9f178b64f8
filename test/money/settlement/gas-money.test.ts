import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import { GAS_PRICE_ORACLE } from '../../../gateway/money/payment/publishing-fee.js';
import type { SettlementOutcome } from '../../../gateway/money/settlement/outcome.js';
import {
  type ReachedChain,
  reachDevChain,
  startTestChain,
  type TestChain,
} from '../../support/chain.js';
import { signPayment } from '../../support/pay.js';
import { startTestService, type TestService } from '../../support/service.js';
import { type Bench, type BenchOptions, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

const MILLI = 10n ** 15n;
const QUERY = { query: 'lighthouse' };

describe('a service whose relayer runs dry', () => {
  let service: TestService;
  let chain: ReachedChain;
  beforeAll(async () => {
    service = await startTestService();
    chain = await reachDevChain(service.dev.rpcUrl);
  });
  afterAll(() => service.stop());

  const fill = (value: bigint) => chain.client.setBalance({ address: chain.relayerAddress, value });
  const pay = async () =>
    service.search(QUERY, { 'payment-signature': await signPayment(service, QUERY) });
  const readiness = async () => {
    const response = await fetch(`${service.opsUrl}/readyz/payments`);
    const { parts } = (await response.json()) as { parts: { settlement: { detail: string } } };
    return { status: response.status, detail: parts.settlement.detail };
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
    return Number(new RegExp(`^search402_settlement_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };

  test('tells its balance, and how long it lasts at the rate of the last hour', async () => {
    expect((await pay()).status).toBe(200);
    expect((await pay()).status).toBe(200);
    await fill(5n * MILLI);
    expect((await pay()).status).toBe(200);
    expect(await metric('balance_eth')).toBeLessThan(0.0051);
    expect(await metric('runway_hours')).toBeLessThan(1);
    expect(await readiness()).toMatchObject({
      status: 200,
      detail: expect.stringMatching(/ 0\.00\d+ ETH; gas money lasts \S+ hours$/),
    });
  });

  test('refuses the very next payment by name, serves keys, and recovers by itself', async () => {
    const header = await signPayment(service, QUERY);
    // What the issue of this was: less than the reserve, and more than nothing.
    await fill((3n * MILLI) / 2n);
    const refused = await service.search(QUERY, { 'payment-signature': header });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({
      code: 'payments_unavailable',
      detail: expect.stringMatching(/out of gas money\. Nothing was charged/),
    });
    expect(await readiness()).toMatchObject({
      status: 503,
      detail: expect.stringMatching(/^out of gas money; .* 0\.00150 ETH/),
    });
    const keyed = await service.search(QUERY, { authorization: `Bearer ${service.dev.apiKey}` });
    expect(keyed.status).toBe(200);
    expect((await service.search(QUERY)).status).toBe(402);
    await fill(1000n * MILLI);
    await until(async () => (await readiness()).status === 200);
    const taken = await service.search(QUERY, { 'payment-signature': header });
    expect(taken.status).toBe(200);
  });

  test('is found dry without any payment', async () => {
    await fill(0n);
    await until(async () => (await readiness()).status === 503, 30_000);
    await fill(1000n * MILLI);
    await until(async () => (await readiness()).status === 200);
  });
});

describe('gas money for a few transfers', () => {
  let chain: TestChain;
  const benches: Bench[] = [];
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.stop());
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.discard();
  });

  const open = async (options: BenchOptions = {}) => {
    const bench = await startBench(chain, options);
    benches.push(bench);
    return bench;
  };

  test('is promised to as many payments as it covers at the worst, and all of them settle', async () => {
    await chain.client.setBalance({ address: chain.relayerAddress, value: 2n * MILLI });
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1_000_000_000n });
    await chain.mine(1);
    const { settlement, served } = await open({ settings: { relayerBalanceMin: 0n } });
    const promised: Promise<SettlementOutcome>[] = [];
    const payers = await chain.newPayers(40, { usdc: 50n });
    let refusals = 0;
    for (const payer of payers) {
      const authorization = await chain.sign(payer, { value: 50n });
      const refusal = settlement.admits(authorization);
      if (refusal) {
        expect(refusal).toMatchObject({ code: 'payments_unavailable' });
        refusals += 1;
        continue;
      }
      const payment: Payment = await served(authorization);
      promised.push(settlement.settle(payment.id, { waitMs: 20_000 }));
    }
    expect(promised.length).toBeGreaterThan(0);
    expect(refusals).toBeGreaterThan(0);
    const outcomes = await Promise.all(promised);
    expect(outcomes.map(({ kind }) => kind)).toEqual(promised.map(() => 'settled'));
  });

  test('counts what publishing on the layer below costs', async () => {
    await chain.client.setBalance({ address: chain.relayerAddress, value: 1000n * MILLI });
    const authorization = await chain.sign(await chain.newPayer({ usdc: 50n }), { value: 50n });
    const { settlement } = await open();
    expect(settlement.admits(authorization)).toBeUndefined();
    // PUSH32 fee, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN: an oracle that knows one answer.
    const fee = (999n * MILLI).toString(16).padStart(64, '0');
    await chain.client.setCode({ address: GAS_PRICE_ORACLE, bytecode: `0x7f${fee}5f5260205ff3` });
    const { settlement: onDearLayer } = await open();
    expect(onDearLayer.admits(authorization)).toMatchObject({ code: 'payments_unavailable' });
    await chain.client.setCode({ address: GAS_PRICE_ORACLE, bytecode: '0x' });
  });
});
