import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../../gateway/wiring/config.js';
import type { Bytes32 } from '../../../gateway/ground/domain/units.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { startPreconfirming } from '../../support/preconfirmations.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain({ blockTimeSeconds: 'manual' });
});
afterAll(() => chain.stop());
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const SOME_HASH = `0x${'ab'.repeat(32)}` as const;
type Flash = Awaited<ReturnType<typeof startPreconfirming>>;

async function open(preconfirmations: boolean, location?: string, known?: Flash) {
  const flash = known ?? (await startPreconfirming(chain));
  if (!known) cleanups.push(() => flash.stop());
  const bench = await startBench(
    { ...chain, rpcUrl: flash.url },
    {
      settings: {
        preconfirmations,
        blockTimeMs: 300,
        rebroadcastAfterMs: 600,
        replaceAfterMs: 60_000,
      },
      ...(location !== undefined && { location }),
    },
  );
  cleanups.push(() => bench.discard());
  return { flash, bench };
}

/** Serves a payment and waits until its transaction is in the pool. */
async function underway(bench: Bench) {
  const payer = await chain.newPayer({ usdc: 100n });
  const { id } = await bench.served(await chain.sign(payer, { value: 50n }));
  const settling = bench.settlement.settle(id, { waitMs: 30_000 });
  const status = async () => (await bench.ledger.get(id))?.status;
  await until(async () => (await status()) === 'broadcast');
  await until(async () => (await chain.client.getTxpoolStatus()).pending > 0n);
  const hash = (await bench.ledger.get(id))?.transaction;
  if (hash === undefined) throw new Error('no transaction');
  return { payer, id, hash, settling, status };
}

/** Waits until the follower has certainly looked at what there is now. */
async function looked(bench: Bench): Promise<void> {
  const looks = () => bench.rpc.calls.get('eth_getTransactionReceipt') ?? 0;
  const enough = looks() + 3;
  await until(() => looks() >= enough);
}

const drop = (hash: Bytes32) =>
  chain.client.request({ method: 'anvil_dropTransaction' as never, params: [hash] as never });

describe('where preconfirmations are not asked for, a preconfirmed receipt', () => {
  test.each([
    ['without a block hash', undefined],
    ['with a block hash', { blockHash: SOME_HASH }],
  ])('%s is not taken for a confirmed one', async (_, options) => {
    const { flash, bench } = await open(false);
    const { payer, id, hash, settling, status } = await underway(bench);
    await flash.preconfirm(hash, options);
    await looked(bench);
    expect(await status()).toBe('broadcast');
    expect(await bench.settlement.outcome(id, { waitMs: 0 })).toMatchObject({ kind: 'pending' });
    await chain.mine(1);
    expect(await settling).toMatchObject({ kind: 'settled', transaction: hash });
    const { hash: canonical } = await chain.client.getBlock();
    expect((await bench.ledger.get(id))?.block?.hash).toBe(canonical);
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('of the number of the newest block and another hash is not taken for a confirmed one', async () => {
    const { flash, bench } = await open(false);
    const { id, hash, settling, status } = await underway(bench);
    await flash.preconfirm(hash, { blockHash: SOME_HASH });
    await drop(hash);
    await chain.mine(1);
    await looked(bench);
    expect(await status()).toBe('broadcast');
    expect((await bench.ledger.get(id))?.facts.settledAt).toBeUndefined();
    flash.vanish(hash);
    // It goes out again, and settles with the block that holds it.
    await until(async () => (await chain.client.getTxpoolStatus()).pending > 0n);
    await chain.mine(1);
    expect(await settling).toMatchObject({ kind: 'settled' });
  });
});

describe('where preconfirmations are asked for', () => {
  test.each([
    ['without a block hash', undefined],
    ['with a block hash', { blockHash: SOME_HASH }],
  ])(
    'the payer is answered before the block is made, and the payment settles with it (%s)',
    async (_, options) => {
      const { flash, bench } = await open(true);
      const { payer, id, hash, settling, status } = await underway(bench);
      await flash.preconfirm(hash, options);
      expect(await settling).toMatchObject({
        kind: 'settled',
        transaction: hash,
        reply: { requestId: expect.any(String) },
      });
      expect(await status()).toBe('preconfirmed');
      expect(await chain.transfers(payer.address)).toEqual([]);
      await chain.mine(1);
      await until(async () => (await status()) === 'settled');
      const { hash: canonical } = await chain.client.getBlock();
      expect((await bench.ledger.get(id))?.block?.hash).toBe(canonical);
      expect(await chain.transfers(payer.address)).toHaveLength(1);
    },
  );

  test('a preconfirmation that vanishes is marked, and its transaction goes out again and settles once', async () => {
    const { flash, bench } = await open(true);
    const { payer, id, hash, settling, status } = await underway(bench);
    await flash.preconfirm(hash);
    expect(await settling).toMatchObject({ kind: 'settled' });
    // The block is finished without it.
    flash.vanish(hash);
    await drop(hash);
    await chain.mine(1);
    await until(async () => (await bench.ledger.get(id))?.facts.reorgedAt !== undefined);
    expect(await bench.settlement.outcome(id, { waitMs: 0 })).toMatchObject({ kind: 'pending' });
    await until(async () => (await chain.client.getTxpoolStatus()).pending > 0n);
    await chain.mine(1);
    await until(async () => (await status()) === 'settled');
    expect((await bench.ledger.get(id))?.transaction).toBe(hash);
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });

  test('a transfer that fails in the finished block although it was preconfirmed is marked, and never called paid', async () => {
    const { flash, bench } = await open(true);
    const { payer, id, hash, settling, status } = await underway(bench);
    await flash.preconfirm(hash);
    expect(await settling).toMatchObject({ kind: 'settled' });
    await chain.fund([payer.address], 0n);
    await chain.mine(1);
    await until(async () => {
      await chain.mine(1);
      return (await status()) === 'failed';
    });
    expect((await bench.ledger.get(id))?.facts.reorgedAt).toBeDefined();
    expect(await chain.transfers(payer.address)).toEqual([]);
  });

  test('a preconfirmed failure decides nothing', async () => {
    const { flash, bench } = await open(true);
    const { payer, hash, settling, status } = await underway(bench);
    await chain.fund([payer.address], 0n);
    await flash.preconfirm(hash);
    await chain.fund([payer.address], 100n);
    await looked(bench);
    expect(await status()).toBe('broadcast');
    await chain.mine(1);
    expect(await settling).toMatchObject({ kind: 'settled' });
  });

  test('a process that dies after a preconfirmation leaves a payment that the next one settles', async () => {
    const { flash, bench } = await open(true);
    const { payer, id, hash, settling } = await underway(bench);
    await flash.preconfirm(hash);
    expect(await settling).toMatchObject({ kind: 'settled' });
    await bench.crash();
    flash.vanish(hash);
    await drop(hash);
    await chain.mine(1);
    const { bench: next } = await open(true, bench.location, flash);
    await until(async () => (await chain.client.getTxpoolStatus()).pending > 0n);
    await chain.mine(1);
    await until(async () => (await next.ledger.get(id))?.status === 'settled');
    expect(await chain.transfers(payer.address)).toHaveLength(1);
  });
});

test('PRECONFIRMATIONS=on is refused where a facilitator moves the money', () => {
  const settings = {
    RPC_URLS: 'https://rpc.example',
    PAY_TO: `0x${'11'.repeat(20)}`,
    FACILITATOR_URL: 'https://facilitator.example',
    PRECONFIRMATIONS: 'on',
  };
  expect(() => readConfig(settings, [])).toThrow(/^PRECONFIRMATIONS=on is for own relayers/);
  expect(readConfig({}, []).PRECONFIRMATIONS).toBe(false);
});
