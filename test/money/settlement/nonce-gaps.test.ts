import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { toHex } from 'viem';
import { sharedCall } from '../../../gateway/money/settlement/calls.js';
import { createLocalSigner } from '../../../gateway/money/settlement/signer.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { type Bench, startBench } from '../../support/settlements.js';

let chain: TestChain;
const benches: Bench[] = [];
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(async () => {
  for (const bench of benches.splice(0)) await bench.discard();
});

const WAIT = { waitMs: 20_000 };
const FEES = { maxFeePerGas: 10_000_000_000n, maxPriorityFeePerGas: 1_000_000n };

async function open(location?: string): Promise<Bench> {
  const bench = await startBench(chain, location === undefined ? {} : { location });
  benches.unshift(bench);
  return bench;
}

const usedNonces = () => chain.client.getTransactionCount({ address: chain.relayerAddress });

test('a nonce that nobody will ever use is found at the start and filled, so that later ones go through', async () => {
  const before = await open();
  const payer = await chain.newPayer({ usdc: 100n });
  const payment = await before.served(await chain.sign(payer, { value: 50n }));
  // What is left when a transaction below ours is gone for good: ours has the nonce after it.
  const used = BigInt(await usedNonces());
  const call = sharedCall([payment.authorization], 'capped-batch');
  const intent = {
    id: crypto.randomUUID(),
    chainId: chain.chainId,
    relayer: chain.relayerAddress,
    nonce: used + 1n,
    purpose: 'transfer' as const,
    ...call,
  };
  const signer = createLocalSigner(chain.relayerPrivateKey);
  const signed = await signer.sign({ ...intent, ...FEES, data: toHex(call.data) });
  const { leases } = before.books;
  const lease = await leases.takeLane(chain.chainId, chain.relayerAddress, before.ledger.owner);
  if (!lease) throw new Error('the lane is not ours');
  const transaction = { ...signed, ...FEES, intentId: intent.id };
  const signing = await before.books.signing.recordSigned(intent, transaction, [payment.id], lease);
  expect(signing).toEqual({ kind: 'recorded' });
  await before.crash();

  const next = await open(before.location);
  expect(await next.settlement.outcome(payment.id, WAIT)).toMatchObject({
    kind: 'settled',
    transaction: signed.hash,
  });
  expect(await usedNonces()).toBe(Number(used) + 2);
  expect(await next.books.intents.noncesFrom(chain.chainId, chain.relayerAddress, used)).toEqual(
    new Set([used, used + 1n]),
  );
  expect(await chain.transfers(payer.address)).toHaveLength(1);
});

test('a nonce that a reorganization frees below a waiting one is found and filled', async () => {
  const payer = await chain.newPayer({ usdc: 100n });
  // The funds lie deeper than the reorganization.
  await chain.mine(3);
  const used = await usedNonces();
  // A stranger has used the key, so the gateway goes on with the next nonce …
  await chain.send(chain.relayerAddress, '0x');
  const bench = await open();
  // … and then the stranger's transaction is gone, as if it had never been.
  const rollback = { method: 'anvil_rollback' as never, params: [1] as never };
  while ((await usedNonces()) > used) await chain.client.request(rollback);

  const payment = await bench.served(await chain.sign(payer, { value: 50n }));
  expect(await bench.settlement.settle(payment.id, WAIT)).toMatchObject({ kind: 'settled' });
  expect(await usedNonces()).toBe(used + 2);
  const { chainId, relayerAddress } = chain;
  expect(await bench.books.intents.noncesFrom(chainId, relayerAddress, BigInt(used))).toEqual(
    new Set([BigInt(used), BigInt(used) + 1n]),
  );
  expect(await chain.transfers(payer.address)).toHaveLength(1);
});
