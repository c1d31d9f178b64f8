import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { unixSeconds } from '../../../gateway/ground/domain/units.js';
import { transferCalls } from '../../../gateway/money/payment/transfer.js';
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

async function open(confirmations: number, blockTimeMs = 100): Promise<Bench> {
  const bench = await startBench(chain, {
    settings: { confirmations, blockTimeMs, rebroadcastAfterMs: 300, replaceAfterMs: 60_000 },
  });
  benches.push(bench);
  return bench;
}

const isPooled = async () => (await chain.client.getTxpoolStatus()).pending > 0n;

describe('with three confirmations asked for', () => {
  test('a transfer settles with the third block that holds it, and not with the second', async () => {
    const bench = await open(3);
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const settling = bench.settlement.settle(payment.id, { waitMs: 20_000 });
    await until(isPooled);
    await chain.mine(2);
    expect(await chain.transfers(payer.address)).toHaveLength(1);
    expect(await bench.settlement.outcome(payment.id, { waitMs: 1000 })).toMatchObject({
      kind: 'pending',
    });
    expect((await bench.ledger.get(payment.id))?.status).toBe('broadcast');
    await chain.mine(1);
    expect(await settling).toMatchObject({ kind: 'settled' });
  });

  test('a transfer that leaves the chain before its third block does not settle in between', async () => {
    const bench = await open(3);
    const payer = await chain.newPayer({ usdc: 100n });
    await chain.mine(3);
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const settling = bench.settlement.settle(payment.id, { waitMs: 20_000 });
    await until(isPooled);
    await chain.mine(2);
    const [transfer] = await chain.transfers(payer.address);
    await chain.client.request({ method: 'anvil_rollback' as never, params: [2] as never });
    expect(await chain.transfers(payer.address)).toEqual([]);
    expect(await bench.settlement.outcome(payment.id, { waitMs: 600 })).toMatchObject({
      kind: 'pending',
    });
    await until(isPooled);
    await chain.mine(3);
    expect(await settling).toMatchObject({
      kind: 'settled',
      transaction: transfer?.transaction,
    });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('a transfer that a stranger makes first is adopted once it is confirmed, and never failed', async () => {
    const bench = await open(3);
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const [call] = transferCalls(payment.authorization);
    if (!call) throw new Error('no call');
    const stranger = await chain.send(call.target, call.data);
    expect(await bench.settlement.settle(payment.id, { waitMs: 2500 })).toMatchObject({
      kind: 'pending',
    });
    await chain.mine(3);
    expect(await bench.settlement.outcome(payment.id, { waitMs: 20_000 })).toMatchObject({
      kind: 'settled',
      transaction: stranger.transactionHash,
    });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('the next transaction does not wait for the confirmations of the one before', async () => {
    const bench = await open(3);
    const payers = await chain.newPayers(2, { usdc: 100n });
    const payments = [];
    for (const payer of payers) {
      const payment = await bench.served(await chain.sign(payer, { value: 50n }));
      void bench.settlement.settle(payment.id, { waitMs: 20_000 });
      payments.push(payment);
      await until(isPooled);
      await chain.mine(1);
    }
    for (const payer of payers) expect(await chain.transfers(payer.address)).toHaveLength(1);
    await chain.mine(2);
    for (const { id } of payments) {
      expect(await bench.settlement.outcome(id, { waitMs: 20_000 })).toMatchObject({
        kind: 'settled',
      });
    }
  });
});

test('an authorization that ends before its settlement could be confirmed is not admitted', async () => {
  const bench = await open(10, 2000);
  const { timestamp } = await chain.client.getBlock();
  bench.settlement.observe({
    number: await chain.client.getBlockNumber(),
    timestamp: unixSeconds(Number(timestamp)),
    baseFee: 1n,
  });
  const lasting = (seconds: number) => ({
    validBefore: unixSeconds(Number(timestamp) + seconds),
  });
  // A search (5 s) and 12 blocks of 2 s: 29 s.
  expect(bench.settlement.admits(lasting(28))).toMatchObject({
    code: 'payment_invalid',
    reason: 'invalid_exact_evm_payload_authorization_valid_before',
    detail: expect.stringMatching(/may take 29 s/),
  });
  expect(bench.settlement.admits(lasting(60))).toBeUndefined();
});
