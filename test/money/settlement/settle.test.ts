import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { type Bench, startBench } from '../../support/settlements.js';

let chain: TestChain;
let bench: Bench;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
beforeEach(async () => {
  bench = await startBench(chain);
});
afterEach(() => bench.discard());

const WAIT = { waitMs: 10_000 };

describe('a served payment', () => {
  test('is settled by one transfer to the payee, and its reply comes back with the hash', async () => {
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const outcome = await bench.settlement.settle(payment.id, WAIT);
    const transfers = await chain.transfers(payer.address);
    expect(transfers).toMatchObject([{ to: chain.payTo, value: 50n }]);
    expect(outcome).toMatchObject({ kind: 'settled', transaction: transfers[0]?.transaction });
    expect(outcome.kind === 'settled' && outcome.reply?.requestId).toBe('r1');
  });

  test('that arrive while a transaction is in flight share the next one', async () => {
    const payers = await chain.newPayers(17, { usdc: 50n });
    const payments = await Promise.all(
      payers.map(async (payer) => bench.served(await chain.sign(payer, { value: 50n }))),
    );
    const outcomes = await Promise.all(
      payments.map((payment) => bench.settlement.settle(payment.id, WAIT)),
    );
    const hashes = outcomes.map((outcome) => outcome.kind === 'settled' && outcome.transaction);
    expect(new Set(hashes).size).toBeLessThanOrEqual(2);
    for (const payer of payers) expect(await chain.balance(payer.address)).toBe(0n);
  });

  test('whose payer spent the money meanwhile fails alone and by name', async () => {
    const [poor, ...others] = await chain.newPayers(4, { usdc: 50n });
    if (!poor) throw new Error('no payer');
    const payments = await Promise.all(
      [poor, ...others].map(async (payer) => bench.served(await chain.sign(payer, { value: 50n }))),
    );
    await chain.fund([poor.address], 0n);
    const outcomes = await Promise.all(
      payments.map((payment) => bench.settlement.settle(payment.id, WAIT)),
    );
    expect(outcomes[0]).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_insufficient_balance',
    });
    expect(outcomes.slice(1).map((outcome) => outcome.kind)).toEqual(Array(3).fill('settled'));
  });
});
