import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { unixSeconds } from '../../../gateway/ground/domain/units.js';
import {
  patienceSeconds,
  queueSeconds,
  windowSeconds,
} from '../../../gateway/money/settlement/forecast.js';
import { SETTLEMENT_DEFAULTS } from '../../../gateway/money/settlement/settings.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

let chain: TestChain;
const benches: Bench[] = [];
beforeAll(async () => {
  chain = await startTestChain({ blockTimeSeconds: 'manual' });
});
afterAll(() => chain.stop());
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.discard();
});

const BASE = { ...SETTLEMENT_DEFAULTS, blockTimeMs: 2000 };
const free = { payments: 0, lanes: 1, stuckMs: 0 };

test('a payment waits for the blocks that those before it fill', () => {
  expect(queueSeconds(free, BASE)).toBe(0);
  expect(queueSeconds({ ...free, payments: 255 }, BASE)).toBe(0);
  expect(queueSeconds({ ...free, payments: 256 }, BASE)).toBe(2);
  expect(queueSeconds({ ...free, payments: 1024, lanes: 2 }, BASE)).toBe(4);
  expect(queueSeconds({ ...free, stuckMs: 7000 }, BASE)).toBe(7);
  expect(windowSeconds(BASE)).toBe(5 + 3 * 2);
});

test('a caller that hardly waits is turned away by a queue, never by the blocks themselves', () => {
  expect(patienceSeconds({ ...BASE, answerWaitMs: 20_000 })).toBe(20);
  expect(patienceSeconds({ ...BASE, answerWaitMs: 100 })).toBe(4);
  expect(patienceSeconds({ ...BASE, answerWaitMs: 0, blockTimeMs: 0 })).toBe(1);
});

test('a payment that would settle later than its caller waits is refused before its search', async () => {
  const bench = await startBench(chain, { settings: { answerWaitMs: 20_000 } });
  benches.push(bench);
  const { settlement } = bench;
  expect(settlement.sheds(0, 0)).toBeUndefined();
  expect(settlement.sheds(10, 19)).toBeUndefined();
  expect(settlement.sheds(10, 60)).toMatchObject({
    code: 'payments_unavailable',
    status: 503,
    retryAfterSeconds: 41,
  });
});

test('transactions that no block takes up close the door once they are older than callers wait', async () => {
  const settings = { answerWaitMs: 1500, inFlightMax: 1, rebroadcastAfterMs: 60_000 };
  const bench = await startBench(chain, { settings });
  benches.push(bench);
  const payer = await chain.newPayer({ usdc: 100n });
  const payment = await bench.served(await chain.sign(payer, { value: 50n }));
  const outcome = bench.settlement.settle(payment.id, { waitMs: 30_000 });
  await until(() => bench.settlement.sheds(0, 0) !== undefined);
  expect(bench.settlement.health().ready).toBe(true);
  await until(async () => {
    await chain.mine(1);
    return bench.settlement.sheds(0, 0) === undefined;
  });
  expect(await outcome).toMatchObject({ kind: 'settled' });
});

test('an authorization that would run out in the queue is told to come back, not to sign anew', async () => {
  const bench = await startBench(chain, { settings: { blockTimeMs: 2000 } });
  benches.push(bench);
  const payer = await chain.newPayer({ usdc: 100n });
  const { timestamp } = await chain.client.getBlock();
  const validBefore = Number(timestamp) + 20;
  const signed = await chain.sign(payer, { value: 50n, validBefore: unixSeconds(validBefore) });
  expect(bench.settlement.admits(signed)).toBeUndefined();
  expect(bench.settlement.admits(signed, 1900)).toMatchObject({ code: 'payments_unavailable' });
});
