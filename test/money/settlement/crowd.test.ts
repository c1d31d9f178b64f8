import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { BINDING, someReply } from '../../support/payments.js';
import { startBench } from '../../support/settlements.js';

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const WAIT = { waitMs: 20_000 };

test('200 copies of one authorization are one charge, one transfer and one reply', async () => {
  const bench = await startBench(chain);
  try {
    const payer = await chain.newPayer({ usdc: 500n });
    const authorization = await chain.sign(payer, { value: 50n });
    let searches = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const { kind, payment } = await bench.ledger.reserve(authorization, BINDING, `r${index}`);
        if (kind === 'exists') return bench.settlement.outcome(payment.id, WAIT);
        searches += 1;
        await bench.ledger.serve(payment.id, someReply());
        return bench.settlement.settle(payment.id, WAIT);
      }),
    );
    expect(searches).toBe(1);
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(outcomes[0]).toMatchObject({ kind: 'settled', reply: someReply() });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  } finally {
    await bench.discard();
  }
});

/** Settles `count` payments of distinct payers `rounds` times, all of a round at once. */
async function measure(count: number, rounds: number) {
  const bench = await startBench(chain, { settings: { finalityMs: 60_000 } });
  try {
    // One transfer before, so that the payee's balance is not written for the first time.
    const [first, ...payers] = await chain.newPayers(1 + count * rounds, { usdc: 100n });
    if (!first) throw new Error('no payer');
    const pay = async (payer: typeof first) => {
      const payment = await bench.served(await chain.sign(payer, { value: 50n }));
      return payment.id;
    };
    await bench.settlement.settle(await pay(first), WAIT);
    bench.rpc.calls.clear();
    const hashes = new Set<string>();
    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all(
        payers.slice(round * count, (round + 1) * count).map((payer) => pay(payer)),
      );
      const outcomes = await Promise.all(ids.map((id) => bench.settlement.settle(id, WAIT)));
      for (const outcome of outcomes) {
        if (outcome.kind !== 'settled') throw new Error(`not settled: ${outcome.kind}`);
        hashes.add(outcome.transaction);
      }
    }
    const calls = [...bench.rpc.calls.values()].reduce((sum, one) => sum + one, 0);
    const receipts = await Promise.all(
      [...hashes].map((hash) =>
        chain.client.getTransactionReceipt({ hash: hash as `0x${string}` }),
      ),
    );
    const gas = receipts.reduce((sum, receipt) => sum + receipt.gasUsed, 0n);
    return { calls: calls / (count * rounds), gas: Number(gas) / (count * rounds) };
  } finally {
    await bench.discard();
  }
}

// Of the calls for a lone payment, one asks whether the receipt's block is finished.
// Measured on real USDC: 85,700 gas alone, 53,000 each at 16 and 51,000 each at 64. The
// development token has its own cost of one transfer; sharing must save the same.
test.each([
  { count: 1, rounds: 8, callsMax: 4 },
  { count: 16, rounds: 4, callsMax: 0.4 },
  { count: 64, rounds: 2, callsMax: 0.15 },
])('$count at once cost few calls and little gas each', async ({ count, rounds, callsMax }) => {
  const { calls, gas } = await measure(count, rounds);
  process.stdout.write(
    `${count} at once: ${Math.round(gas)} gas and ${calls.toFixed(2)} JSON-RPC calls a payment\n`,
  );
  expect(calls).toBeLessThanOrEqual(callsMax);
  expect(gas).toBeLessThan(90_000);
});
