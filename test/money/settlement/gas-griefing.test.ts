import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { CappedBatch } from '../../../contracts-abi/artifacts/CappedBatch.js';
import {
  CAPPED_BATCH_ADDRESS,
  DEPLOYMENT_PROXY_ADDRESS,
} from '../../../contracts-abi/capped-batch.js';
import { BalanceBurner } from '../../../contracts-abi/artifacts/BalanceBurner.js';
import { BasefeeBurner } from '../../../contracts-abi/artifacts/BasefeeBurner.js';
import { GasleftBurner } from '../../../contracts-abi/artifacts/GasleftBurner.js';
import { GaspriceBurner } from '../../../contracts-abi/artifacts/GaspriceBurner.js';
import { keccak256, parseEther, stringToHex } from 'viem';
import { address, unixSeconds } from '../../../gateway/ground/domain/units.js';
import { PaymentQueue } from '../../../gateway/money/settlement/queue.js';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import { payerOf, startTestChain, type TestChain } from '../../support/chain.js';
import {
  delegate,
  joinService,
  relayedSince,
  type Crowd,
  type PaidReply,
} from '../../support/griefers.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';
import { startTestService, type TestService } from '../../support/service.js';

/** The account whose ether `BalanceBurner` looks at. */
const SWITCH = address(`0x${keccak256(stringToHex('switch')).slice(-40)}`);
const signer = payerOf(`0x${'0e'.repeat(32)}`);

let service: TestService;
let crowd: Crowd;
beforeAll(async () => {
  service = await startTestService({ env: { SETTLEMENT_WAIT_MS: '8000' } });
  crowd = await joinService(service);
});
afterAll(() => service.stop());

const statuses = (replies: readonly PaidReply[]) => replies.map(({ status }) => status);
/** As early as the service takes it: a batch that goes by deadlines has these in front. */
const soon = () => ({ validBefore: unixSeconds(Math.floor(Date.now() / 1000) + 60) });

/** Three honest payers each time, while these attack; all of them at once, some times over. */
async function besiege(attack: () => readonly Promise<PaidReply>[], rounds = 3) {
  const fromBlock = await crowd.chain.client.getBlockNumber({ cacheTime: 0 });
  const honest: PaidReply[] = [];
  const attacks: PaidReply[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const payers = await crowd.newPayers(3);
    const attacking = attack();
    honest.push(...(await Promise.all(payers.map((payer) => crowd.pay(payer)))));
    attacks.push(...(await Promise.all(attacking)));
  }
  const relayed = await crowd.relayed(fromBlock + 1n);
  const burned = relayed
    .filter(({ transfers }) => transfers === 0)
    .reduce((sum, { gasUsed }) => sum + gasUsed, 0n);
  return { honest, attacks, relayed, burned };
}

test.each([
  ['sees a gas price', GaspriceBurner],
  ['sees little gas and a sender', GasleftBurner],
  ['sees a base fee', BasefeeBurner],
])(
  'honest payers all get their results beside wallets whose code burns when it %s',
  async (_, code) => {
    const wallets = await Promise.all(Array.from({ length: 6 }, () => crowd.newWallet(code)));
    const { honest, attacks, burned } = await besiege(() =>
      wallets.map((wallet) => crowd.payAs(wallet, signer, soon())),
    );
    expect(statuses(honest)).toEqual(honest.map(() => 200));
    expect(statuses(attacks)).not.toContain(200);
    // What a simulation with a sender and a fee shows costs nothing at all.
    expect(burned).toBe(0n);
  },
);

test('honest payers get their results beside keys whose accounts delegate to burning code', async () => {
  const keys = await crowd.newPayers(4);
  for (const key of keys) await crowd.delegate(key.address, GaspriceBurner);
  const { honest, attacks, burned } = await besiege(() =>
    keys.map((key) => crowd.pay(key, soon())),
  );
  expect(statuses(honest)).toEqual(honest.map(() => 200));
  expect(statuses(attacks)).not.toContain(200);
  expect(burned).toBe(0n);
});

test('a wallet that no simulation sees through burns what its own simulation justifies, once', async () => {
  const { client } = crowd.chain;
  await client.setBalance({ address: SWITCH, value: 0n });
  const fromBlock = await client.getBlockNumber({ cacheTime: 0 });
  const [wallet, payers] = [await crowd.newWallet(BalanceBurner), await crowd.newPayers(3)];
  await client.setIntervalMining({ interval: 0 });
  const [griefed, ...honest] = [
    crowd.payAs(wallet, signer, soon()),
    ...payers.map((payer) => crowd.pay(payer)),
  ];
  // Their simulations have passed and no block holds them yet.
  await until(async () => (await pendingOf(crowd)) >= 2);
  await client.setBalance({ address: SWITCH, value: parseEther('1') });
  await client.setIntervalMining({ interval: 1 });
  expect(statuses(await Promise.all(honest))).toEqual([200, 200, 200]);
  expect((await griefed).code).toBe('settlement_failed');
  const relayed = await crowd.relayed(fromBlock + 1n);
  const lost = relayed.filter(({ succeeded }) => !succeeded);
  expect(lost).toHaveLength(1);
  expect(lost[0]?.gasUsed).toBeLessThan(250_000n);

  await client.setBalance({ address: SWITCH, value: 0n });
  expect((await crowd.payAs(wallet, signer, soon())).code).toBe('contract_payer_deferred');
  // A copy of its code at another address is barred as well; other code is not.
  const copy = await crowd.newWallet(BalanceBurner);
  expect((await crowd.payAs(copy, signer, soon())).code).toBe('contract_payer_deferred');
});

async function pendingOf({ chain }: Crowd): Promise<number> {
  const { pending } = await chain.client.getTxpoolContent();
  return Object.values(pending).flatMap((byNonce) => Object.values(byNonce)).length;
}

describe('a key that delegates to burning code after its payment was taken', () => {
  let chain: TestChain;
  const benches: Bench[] = [];
  beforeAll(async () => {
    chain = await startTestChain();
  });
  afterAll(() => chain.stop());
  afterEach(async () => {
    for (const bench of benches.splice(0)) await bench.discard();
  });

  /** Settles four payments of keys in one batch, the second of which delegates before it is sent. */
  async function settleBeside(): Promise<{ bench: Bench; kinds: string[]; gas: bigint[] }> {
    const payers = await chain.newPayers(4, { usdc: 100n });
    const [, sleeper] = payers;
    let isDelegated = false;
    const bench = await startBench(chain, {
      chain: (real) => ({
        ...real,
        broadcast: async (raw) => {
          if (!isDelegated && sleeper && raw.length > 1000) {
            isDelegated = true;
            await delegate(chain, sleeper.address, GaspriceBurner);
          }
          return real.broadcast(raw);
        },
      }),
    });
    benches.push(bench);
    const fromBlock = await chain.client.getBlockNumber({ cacheTime: 0 });
    const payments = await Promise.all(
      payers.map(async (payer) => bench.served(await chain.sign(payer, { value: 50n }))),
    );
    const outcomes = await Promise.all(
      payments.map(({ id }) => bench.settlement.settle(id, { waitMs: 6000 })),
    );
    expect(isDelegated).toBe(true);
    const relayed = await relayedSince(chain, fromBlock + 1n);
    return {
      bench,
      kinds: outcomes.map(({ kind }) => kind),
      gas: relayed.map(({ gasUsed }) => gasUsed),
    };
  }

  test('burns the cap of its own call: its neighbours settle in the same transaction', async () => {
    const { kinds, gas } = await settleBeside();
    expect(kinds).toEqual(['settled', 'pending', 'settled', 'settled']);
    // One batch; the sleeper is barred, and waits until its time is up.
    expect(gas).toHaveLength(1);
    expect(gas[0]).toBeLessThan(30_000n + 3n * 80_000n + 122_000n);
  });

  test('takes its neighbours along where no batch contract is, and each of them settles alone', async () => {
    await chain.client.setCode({ address: CAPPED_BATCH_ADDRESS, bytecode: '0x' });
    await chain.client.setCode({ address: DEPLOYMENT_PROXY_ADDRESS, bytecode: '0x' });
    const { kinds, gas } = await settleBeside();
    expect(kinds).toEqual(['settled', 'pending', 'settled', 'settled']);
    expect(gas).toHaveLength(4);
  });
});

test('a relayer deploys the batch contract where it is missing, and then uses it', async () => {
  const chain = await startTestChain();
  await chain.client.setCode({ address: CAPPED_BATCH_ADDRESS, bytecode: '0x' });
  const bench = await startBench(chain);
  try {
    await until(
      async () =>
        (await chain.client.getCode({ address: CAPPED_BATCH_ADDRESS })) === CappedBatch.runtimeCode,
    );
    const payers = await chain.newPayers(3, { usdc: 100n });
    const settleAll = () =>
      Promise.all(
        payers.map(async (payer) => {
          const payment = await bench.served(await chain.sign(payer, { value: 10n }));
          return bench.settlement.settle(payment.id, { waitMs: 20_000 });
        }),
      );
    const targets = async () => {
      const block = await chain.client.getBlock({ includeTransactions: true });
      return block.transactions.map(({ to }) => to?.toLowerCase());
    };
    await until(async () => {
      expect(await settleAll()).toMatchObject(payers.map(() => ({ kind: 'settled' })));
      return (await targets()).includes(CAPPED_BATCH_ADDRESS.toLowerCase());
    });
  } finally {
    await bench.discard();
    await chain.stop();
  }
});

test('a batch goes by the age of its payments, whatever their deadlines are', () => {
  const queue = new PaymentQueue();
  const payment = (id: string, reservedAt: number, validBefore: number, failedCalls = 0) =>
    ({ id, reservedAt, failedCalls, authorization: { validBefore } }) as unknown as Payment;
  queue.add(payment('late', 3, 10));
  queue.add(payment('harmed', 0, 10, 1));
  queue.add(payment('first', 1, 300));
  queue.add(payment('second', 2, 20));
  const limits = { batchPaymentsMax: 2, batchGasMax: 10_000_000n };
  const taken = Array.from({ length: 3 }, () => queue.take(limits).map(({ id }) => id));
  // Whose call failed beside others goes alone.
  expect(taken).toEqual([['first', 'second'], ['late'], ['harmed']]);
});
