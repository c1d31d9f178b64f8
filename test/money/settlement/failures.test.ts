import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeFunctionData } from 'viem';
import { usdcBytesAbi } from '../../../contracts-abi/usdc.js';
import { unixSeconds } from '../../../gateway/ground/domain/units.js';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import { transferCalls } from '../../../gateway/money/payment/transfer.js';
import type { SettlementChain } from '../../../gateway/money/settlement/chain.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { deferred } from '../../support/deferred.js';
import { realClock } from '../../support/ports.js';
import { type Bench, type BenchOptions, startBench } from '../../support/settlements.js';
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

const WAIT = { waitMs: 15_000 };

async function open(options: BenchOptions = {}): Promise<Bench> {
  const bench = await startBench(chain, options);
  benches.push(bench);
  return bench;
}

/** A served payment of 50 units by a fresh payer who has 100. */
async function servedPayment(bench: Bench): Promise<Payment> {
  const payer = await chain.newPayer({ usdc: 100n });
  return bench.served(await chain.sign(payer, { value: 50n }));
}

const settle = (bench: Bench, payment: Payment) => bench.settlement.settle(payment.id, WAIT);
const transfersOf = (payment: Payment) => chain.transfers(payment.authorization.from);

/** Changes some methods of the chain, the rest stays real. */
const changed =
  (changes: (real: SettlementChain) => Partial<SettlementChain>) =>
  (real: SettlementChain): SettlementChain => ({ ...real, ...changes(real) });

describe('broadcasts', () => {
  test('that are lost without an answer are sent again, the same bytes', async () => {
    const sent: string[] = [];
    const bench = await open({
      chain: changed((real) => ({
        broadcast: (raw) => {
          sent.push(Buffer.from(raw).toString('hex'));
          return sent.length < 3 ? Promise.reject(new Error('lost')) : real.broadcast(raw);
        },
      })),
      settings: { rebroadcastAfterMs: 300, replaceAfterMs: 60_000 },
    });
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
    expect(new Set(sent).size).toBe(1);
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test('whose answer is lost although they arrived are settled once', async () => {
    const bench = await open({
      chain: changed((real) => ({
        broadcast: async (raw) => {
          await real.broadcast(raw);
          throw new Error('timed out');
        },
      })),
    });
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test('that the mempool drops are sent again', async () => {
    const bench = await open({
      chain: changed((real) => {
        let dropped = false;
        return {
          broadcast: async (raw) => {
            const answer = await real.broadcast(raw);
            if (dropped) return answer;
            dropped = true;
            const [hash] = await pendingHashes();
            if (hash) await chain.client.dropTransaction({ hash });
            return answer;
          },
        };
      }),
    });
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
  });

  test('that offer less than the base fee are replaced at the same nonce for more', async () => {
    const bench = await open({ settings: { maxFeePerGasCap: 500_000_000_000n } });
    const { number } = await chain.client.getBlock();
    bench.settlement.observe({ number, timestamp: unixSeconds(0), baseFee: 1n });
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 50_000_000_000n });
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
    expect(await transfersOf(payment)).toHaveLength(1);
    await chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1_000_000_000n });
    await chain.mine();
  });

  test('that stay pending for long are replaced, and the replacement is what settles', async () => {
    const sent = new Set<string>();
    const bench = await open({
      chain: changed((real) => ({
        // The node takes the first transaction and never passes it on.
        broadcast: (raw) => {
          sent.add(Buffer.from(raw).toString('hex'));
          return sent.size === 1 ? Promise.resolve({ kind: 'accepted' }) : real.broadcast(raw);
        },
      })),
    });
    const nonce = await chain.client.getTransactionCount({ address: chain.relayerAddress });
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
    expect(sent.size).toBe(2);
    expect(await chain.client.getTransactionCount({ address: chain.relayerAddress })).toBe(
      nonce + 1,
    );
  });
});

const pendingHashes = async () => {
  const pool = await chain.client.getTxpoolContent();
  return Object.values(pool.pending).flatMap((byNonce) =>
    Object.values(byNonce).map(({ hash }) => hash),
  );
};

describe('an authorization', () => {
  test('that a third party submitted first is adopted as settled, once', async () => {
    const bench = await open();
    const payment = await servedPayment(bench);
    const [call] = transferCalls(payment.authorization);
    if (!call) throw new Error('no call');
    const stranger = await chain.send(call.target, call.data);
    expect(await settle(bench, payment)).toMatchObject({
      kind: 'settled',
      transaction: stranger.transactionHash,
    });
    expect(await transfersOf(payment)).toHaveLength(1);
  });

  test('that the payer cancelled fails by name and moves nothing', async () => {
    const bench = await open();
    const payer = await chain.newPayer({ usdc: 100n });
    const payment = await bench.served(await chain.sign(payer, { value: 50n }));
    const { nonce } = payment.authorization;
    await chain.send(
      chain.asset,
      encodeFunctionData({
        abi: usdcBytesAbi,
        functionName: 'cancelAuthorization',
        args: [payer.address, nonce, await chain.cancellation(payer, nonce)],
      }),
    );
    expect(await settle(bench, payment)).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_nonce_already_used',
    });
    expect(await transfersOf(payment)).toEqual([]);
  });

  test('whose window closed before it could be sent fails as expired, not before', async () => {
    const bench = await open({
      chain: changed(() => ({ broadcast: () => Promise.reject(new Error('the node is away')) })),
    });
    const payer = await chain.newPayer({ usdc: 100n });
    const { timestamp } = await chain.client.getBlock();
    const authorization = await chain.sign(payer, {
      value: 50n,
      validBefore: unixSeconds(Number(timestamp) + 3),
    });
    const payment = await bench.served(authorization);
    expect(await bench.settlement.settle(payment.id, { waitMs: 1000 })).toMatchObject({
      kind: 'pending',
    });
    expect(await bench.settlement.outcome(payment.id, WAIT)).toMatchObject({
      kind: 'failed',
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    });
    const latest = await chain.client.getBlock();
    expect(Number(latest.timestamp)).toBeGreaterThanOrEqual(authorization.validBefore);
  });

  test('of a blacklisted payer fails by name', async () => {
    const bench = await open();
    const payment = await servedPayment(bench);
    await chain.devUsdc('blacklist', [payment.authorization.from]);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'failed' });
    expect(await transfersOf(payment)).toEqual([]);
  });
});

describe('the relayer', () => {
  test('without gas money refuses new paid work and keeps what is pending', async () => {
    const bench = await open();
    const { relayerAddress: relayer } = chain;
    const balance = await chain.client.getBalance({ address: relayer });
    await chain.client.setBalance({ address: relayer, value: 0n });
    const payment = await servedPayment(bench);
    expect(await bench.settlement.settle(payment.id, { waitMs: 600 })).toMatchObject({
      kind: 'pending',
    });
    expect(bench.settlement.health().ready).toBe(false);
    expect(bench.settlement.admits(payment.authorization)).toMatchObject({
      code: 'payments_unavailable',
    });
    await chain.client.setBalance({ address: relayer, value: balance });
    expect(await bench.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    await until(() => bench.settlement.health().ready);
  });

  test('whose nonce a stranger used goes on with the next one', async () => {
    const bench = await open();
    const { relayerAddress: relayer } = chain;
    const nonce = await chain.client.getTransactionCount({ address: relayer });
    await chain.send(relayer, '0x');
    expect(await chain.client.getTransactionCount({ address: relayer })).toBe(nonce + 1);
    const payment = await servedPayment(bench);
    expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
    expect(await transfersOf(payment)).toHaveLength(1);
  });
});

test('a node that says success without the logs of a transfer is not believed', async () => {
  let lies = 3;
  const bench = await open({
    chain: changed((real) => ({
      receipts: async (hashes) => {
        const receipts = await real.receipts(hashes);
        return receipts.map((receipt) =>
          receipt && lies-- > 0 ? { ...receipt, logs: [] } : receipt,
        );
      },
    })),
  });
  const payment = await servedPayment(bench);
  expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
  expect(lies).toBeLessThan(0);
});

test('a chain that does not answer leaves the payment pending until it does', async () => {
  let isAway = true;
  const bench = await open({
    chain: changed((real) => ({
      receipts: (hashes) => (isAway ? Promise.reject(new Error('away')) : real.receipts(hashes)),
    })),
  });
  const payment = await servedPayment(bench);
  expect(await bench.settlement.settle(payment.id, { waitMs: 700 })).toMatchObject({
    kind: 'pending',
    transaction: expect.stringMatching(/^0x/),
  });
  isAway = false;
  expect(await bench.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
});

test('a settled transfer that a reorganization removes is broadcast again', async () => {
  const bench = await open({ settings: { finalityMs: 200 } });
  const payer = await chain.newPayer({ usdc: 100n });
  // The funds lie deeper than the reorganization.
  await chain.mine(10);
  const payment = await bench.served(await chain.sign(payer, { value: 50n }));
  expect(await settle(bench, payment)).toMatchObject({ kind: 'settled' });
  await chain.client.request({ method: 'anvil_reorg' as never, params: [5, []] as never });
  await until(async () => (await bench.ledger.get(payment.id))?.facts.reorgedAt !== undefined);
  expect(await bench.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
  expect(await transfersOf(payment)).toHaveLength(1);
});

test('what was found out about a payment ends it no more once it is signed', async () => {
  const signed = deferred();
  const go = deferred();
  const bench = await open({
    checkpoint: (point) => {
      if (point !== 'after-sign-commit') return undefined;
      signed.resolve();
      return go.promise;
    },
  });
  const found = await servedPayment(bench);
  const outcome = settle(bench, found);
  await signed.promise;
  const refused = { kind: 'refused', because: 'already_signed' };
  expect(await bench.books.outcomes.recordFailed(found, 'it could not be made')).toEqual(refused);
  expect(await bench.books.outcomes.recordRetry(found)).toEqual(refused);
  go.resolve();
  expect(await outcome).toMatchObject({ kind: 'settled' });
});

test('a payment is looked into once at a time, however long it takes', async () => {
  let [looks, most] = [0, 0];
  const bench = await open({
    chain: changed((real) => ({
      revertData: async (call, at) => {
        looks += 1;
        most = Math.max(most, looks);
        await realClock.sleep(1000);
        looks -= 1;
        return real.revertData(call, at);
      },
    })),
  });
  const payment = await servedPayment(bench);
  await chain.fund([payment.authorization.from], 0n);
  expect(await settle(bench, payment)).toMatchObject({ kind: 'failed' });
  expect(most).toBe(1);
});
