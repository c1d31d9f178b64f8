import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { parseTransaction, toHex } from 'viem';
import type { SettlementChain } from '../../../gateway/money/settlement/chain.js';
import { bumpedFees } from '../../../gateway/money/settlement/fees.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

let chain: TestChain;
const benches: Bench[] = [];
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.discard();
});

interface Sent {
  readonly raw: string;
  readonly maxFeePerGas: bigint;
  readonly atMs: number;
}

/** A bench whose node takes every transaction, answers as told, and passes none on until allowed. */
async function stuckBench(cap: bigint, answer: 'accepted' | 'underpriced', everyMs: number) {
  const sent: Sent[] = [];
  const node = { isOpen: false };
  const bench = await startBench(chain, {
    settings: {
      maxFeePerGasCap: cap,
      rebroadcastAfterMs: everyMs,
      replaceAfterMs: everyMs,
    },
    chain: (real): SettlementChain => ({
      ...real,
      broadcast: (raw) => {
        const { maxFeePerGas = 0n } = parseTransaction(toHex(raw));
        sent.push({ raw: toHex(raw), maxFeePerGas, atMs: performance.now() });
        return node.isOpen ? real.broadcast(raw) : Promise.resolve({ kind: answer });
      },
    }),
  });
  benches.push(bench);
  return { bench, sent, node };
}

const atFeeCap = (bench: Bench) => bench.settlement.health().lanes[0]?.atFeeCap;

describe('a transaction that stays pending', () => {
  test('offers at least a tenth more each time, at last the cap, and then waits as it is', async () => {
    const { baseFeePerGas } = await chain.client.getBlock();
    const cap = 4n * (baseFeePerGas ?? 0n) + 7n;
    const { bench, sent, node } = await stuckBench(cap, 'accepted', 150);
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const settling = bench.settlement.settle(payment.id, { waitMs: 30_000 });
    await until(() => atFeeCap(bench) === 1);
    const atCap = sent.length;
    await until(() => sent.length >= atCap + 3);

    const offers = [...new Set(sent.map(({ maxFeePerGas }) => maxFeePerGas))];
    for (const [index, offer] of offers.slice(1).entries()) {
      expect(10n * offer).toBeGreaterThanOrEqual(11n * (offers[index] ?? 0n));
    }
    expect(offers.at(-1)).toBeLessThanOrEqual(cap);
    expect(11n * (offers.at(-1) ?? 0n)).toBeGreaterThan(10n * cap);
    expect(new Set(sent.slice(atCap).map(({ raw }) => raw)).size).toBe(1);

    node.isOpen = true;
    expect(await settling).toMatchObject({ kind: 'settled' });
    expect(atFeeCap(bench)).toBe(0);
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('at the cap is not sent more often because the node says that it offers too little', async () => {
    const everyMs = 1000;
    const { bench, sent, node } = await stuckBench(2n, 'underpriced', everyMs);
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    expect(await bench.settlement.settle(payment.id, { waitMs: 600 })).toMatchObject({
      kind: 'pending',
    });
    await until(() => atFeeCap(bench) === 1);
    const atCap = sent.length;
    await until(() => sent.length >= atCap + 3);
    const [first, , third] = sent.slice(atCap);
    expect((third?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(1.9 * everyMs);

    // Nothing is lost: what waits goes through when the chain is cheap again.
    node.isOpen = true;
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1n });
    expect(await bench.settlement.outcome(payment.id, { waitMs: 20_000 })).toMatchObject({
      kind: 'settled',
    });
  });
});

describe('a replacement', () => {
  const settings = { priorityFeePerGas: 10n, maxFeePerGasCap: 1000n };
  const offering = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
    maxFeePerGas,
    maxPriorityFeePerGas,
  });

  test('offers the cap where an eighth more would exceed it and a tenth more does not', () => {
    expect(bumpedFees(offering(900n, 10n), 1n, settings)).toEqual(offering(1000n, 12n));
  });

  test('is not made for less than a tenth more of both fees', () => {
    expect(bumpedFees(offering(910n, 10n), 1n, settings)).toBeUndefined();
    expect(bumpedFees(offering(909n, 990n), 1n, settings)).toBeUndefined();
  });
});
