import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { CrashPoint } from '../../../gateway/money/ledger/checkpoint.js';
import { createLocalSigner } from '../../../gateway/money/settlement/signer.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { deferred } from '../../support/deferred.js';
import { BINDING, someReply } from '../../support/payments.js';
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

const WAIT = { waitMs: 10_000 };
const never = new Promise<void>(() => undefined);

/** A bench that goes no further once it reaches `point`, as a process that is killed there. */
async function benchThatDiesAt(point: CrashPoint, location?: string) {
  const died = deferred();
  const bench = await startBench(chain, {
    ...(location !== undefined && { location }),
    checkpoint: (reached) => {
      if (reached !== point) return undefined;
      died.resolve();
      return never;
    },
  });
  benches.unshift(bench);
  return { bench, died: died.promise };
}

async function restarted(dead: Bench): Promise<Bench> {
  const bench = await startBench(chain, { location: dead.location });
  benches.unshift(bench);
  return bench;
}

describe('after a process dies', () => {
  const afterServing: CrashPoint[] = [
    'after-serve',
    'after-sign',
    'after-sign-commit',
    'after-broadcast',
    'after-receipt',
    'after-settle-commit',
  ];
  test.each(afterServing)('%s, the next one settles the payment, once', async (point) => {
    const { bench, died } = await benchThatDiesAt(point);
    const payer = await chain.newPayer({ usdc: 100n });
    const authorization = await chain.sign(payer, { value: 50n });
    const { payment } = await bench.ledger.reserve(authorization, BINDING, 'request');
    void bench.ledger
      .serve(payment.id, someReply())
      .then(() => bench.settlement.settle(payment.id, WAIT))
      .catch(() => undefined);
    await died;
    await bench.crash();

    const next = await restarted(bench);
    const outcome = await next.settlement.outcome(payment.id, WAIT);
    expect(outcome).toMatchObject({ kind: 'settled', reply: someReply() });
    expect(await chain.transfers(payer.address)).toMatchObject([{ value: 50n, to: chain.payTo }]);
    expect(await chain.client.getTransactionCount({ address: chain.relayerAddress })).toBe(
      Number(await next.books.intents.lastNonce(chain.chainId, chain.relayerAddress)) + 1,
    );
  });

  test('after-reserve, the authorization is free again and nothing was moved', async () => {
    const { bench, died } = await benchThatDiesAt('after-reserve');
    const payer = await chain.newPayer({ usdc: 100n });
    const authorization = await chain.sign(payer, { value: 50n });
    void bench.ledger.reserve(authorization, BINDING, 'request');
    await died;
    await bench.crash();

    const next = await restarted(bench);
    expect(await next.ledger.find(authorization)).toBeUndefined();
    expect((await next.ledger.reserve(authorization, BINDING, 'again')).kind).toBe('reserved');
    expect(await chain.transfers(payer.address)).toEqual([]);
  });

  test('three times in a row at different points, the payment is still settled once', async () => {
    const payer = await chain.newPayer({ usdc: 100n });
    const { bench: first, died } = await benchThatDiesAt('after-sign-commit');
    const payment = await first.served(await chain.sign(payer, { value: 50n }));
    void first.settlement.settle(payment.id, WAIT).catch(() => undefined);
    await died;
    await first.crash();
    for (const point of ['after-receipt', 'after-settle-commit'] as const) {
      const { bench, died: diedAgain } = await benchThatDiesAt(point, first.location);
      await diedAgain;
      await bench.crash();
    }
    const last = await restarted(first);
    expect(await last.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });
});

test('what a dead relayer has signed is not called failed while it may still go out', async () => {
  const { bench: dead, died } = await benchThatDiesAt('after-sign-commit');
  const payer = await chain.newPayer({ usdc: 100n });
  const payment = await dead.served(await chain.sign(payer, { value: 50n }));
  void dead.settlement.settle(payment.id, WAIT).catch(() => undefined);
  await died;
  await dead.crash();
  await chain.fund([payer.address], 0n);

  // Its heir has another key, so that it looks into the payment and not after the transaction.
  const signer = createLocalSigner(`0x${'c3'.repeat(32)}`);
  await chain.client.setBalance({ address: signer.address, value: 10n ** 18n });
  let looks = 0;
  const heir = await startBench(chain, {
    location: dead.location,
    signers: [signer],
    chain: (real) => ({
      ...real,
      revertData: (call, at) => {
        looks += 1;
        return real.revertData(call, at);
      },
    }),
  });
  benches.unshift(heir);
  await until(() => looks >= 3);
  expect(await heir.ledger.get(payment.id)).toMatchObject({ status: 'signed' });
  await chain.fund([payer.address], 100n);
  expect(await heir.settlement.outcome(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
  expect(await chain.transfers(payer.address)).toHaveLength(1);
});
