import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { bytesToHex } from 'viem';
import { bytes32, type Address } from '../../../gateway/ground/domain/units.js';
import { AuditBooks } from '../../../gateway/money/ledger/audit.js';
import type { Payment } from '../../../gateway/money/ledger/payment.js';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { BINDING, someReply } from '../../support/payments.js';
import { realClock } from '../../support/ports.js';
import { type Bench, startBench } from '../../support/settlements.js';
import { until } from '../../support/until.js';

let chain: TestChain;
let bench: Bench;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(() => bench.discard());

const WAIT = { waitMs: 20_000 };
/** Deeper than any reorganization here. */
const SETTLED_BLOCKS = 10;

const settle = (payment: Payment) => bench.settlement.settle(payment.id, WAIT);
const transfersOf = (payment: Payment) => chain.transfers(payment.authorization.from);

/** Replaces the newest blocks by empty ones; their transactions are gone. */
const reorganize = (depth: number) =>
  chain.client.request({ method: 'anvil_reorg' as never, params: [depth, []] as never });

/** Lets each of these go on once all of them have come. */
function allAtOnce(accounts: readonly Address[]) {
  const awaited = new Set(accounts);
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return (account: Address): Promise<void> => {
    if (!accounts.includes(account)) return Promise.resolve();
    awaited.delete(account);
    if (awaited.size === 0) open();
    return opened;
  };
}

async function statusBecomes(payment: Payment, status: Payment['status']): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const now = (await bench.ledger.get(payment.id))?.status;
    if (now === status) return;
    if (Date.now() > deadline) throw new Error(`it is ${String(now)} and not ${status}`);
    await realClock.sleep(50);
  }
}

test('a nonce that a reorganization freed is used again, so that the next payment settles', async () => {
  bench = await startBench(chain, { settings: { finalityMs: 60_000 } });
  const [poor, rich] = await chain.newPayers(2, { usdc: 100n });
  if (!poor || !rich) throw new Error('no payers');
  const failing = await bench.served(await chain.sign(poor, { value: 50n }));
  await chain.fund([poor.address], 0n);
  await chain.mine(SETTLED_BLOCKS);
  expect(await settle(failing)).toMatchObject({ kind: 'failed' });
  await reorganize(2);
  const next = await bench.served(await chain.sign(rich, { value: 50n }));
  expect(await settle(next)).toMatchObject({ kind: 'settled' });
  expect(await bench.settlement.outcome(failing.id, WAIT)).toMatchObject({ kind: 'failed' });
  expect(await transfersOf(failing)).toEqual([]);
});

test('a failed payment whose transfer a reorganization makes good is settled, once', async () => {
  bench = await startBench(chain, { settings: { finalityMs: 200 } });
  const [late, rich] = await chain.newPayers(2, { usdc: 100n });
  if (!late || !rich) throw new Error('no payers');
  const failing = await bench.served(await chain.sign(late, { value: 50n }));
  await chain.fund([late.address], 0n);
  await chain.mine(SETTLED_BLOCKS);
  expect(await settle(failing)).toMatchObject({ kind: 'failed' });
  await reorganize(2);
  // In the new blocks the payer has the money.
  await chain.fund([late.address], 100n);
  const next = await bench.served(await chain.sign(rich, { value: 50n }));
  expect(await settle(next)).toMatchObject({ kind: 'settled' });
  await statusBecomes(failing, 'settled');
  const outcome = await bench.settlement.outcome(failing.id, WAIT);
  expect(outcome).toMatchObject({ kind: 'settled', reply: {} });
  expect(await transfersOf(failing)).toHaveLength(1);
});

test('of a batch that a reorganization moved, only what is made there stays settled', async () => {
  const [poor, rich] = await chain.newPayers(2, { usdc: 100n });
  if (!poor || !rich) throw new Error('no payers');
  // Both are told that they have no code at the same moment, so that they leave together.
  const together = allAtOnce([poor.address, rich.address]);
  bench = await startBench(chain, {
    settings: { finalityMs: 60_000 },
    chain: (real) => ({
      ...real,
      payerCode: async (account) => {
        const code = await real.payerCode(account);
        await together(account);
        return code;
      },
    }),
  });
  const serve = async (payer: typeof poor) => {
    const authorization = await chain.sign(payer, { value: 50n });
    const { payment } = await bench.ledger.reserve(authorization, BINDING, 'request');
    await bench.ledger.serve(payment.id, someReply());
    return payment;
  };
  const [unmade, made] = [await serve(poor), await serve(rich)];
  await chain.mine(SETTLED_BLOCKS);
  const [one, other] = await Promise.all([settle(unmade), settle(made)]);
  if (one.kind !== 'settled' || other.kind !== 'settled') throw new Error('not settled');
  expect(one.transaction).toBe(other.transaction);
  const [intent] = await new AuditBooks(bench.store).intentsOf(made.id);
  await bench.crash();

  await reorganize(3);
  // In the new blocks the money is gone before the same transaction comes.
  await chain.fund([poor.address], 0n);
  const serializedTransaction = bytesToHex(intent?.transactions[0]?.raw ?? new Uint8Array());
  await chain.client.sendRawTransaction({ serializedTransaction });
  await chain.mine(SETTLED_BLOCKS);
  const { location } = bench;
  bench = await startBench(chain, { location, settings: { finalityMs: 200 } });
  await statusBecomes(unmade, 'failed');
  expect(await settle(made)).toMatchObject({ kind: 'settled', transaction: other.transaction });
  expect(await transfersOf(unmade)).toEqual([]);
  expect(await transfersOf(made)).toHaveLength(1);
});

test('a payment whose adopted transfer vanished is transferred by us', async () => {
  bench = await startBench(chain);
  const payer = await chain.newPayer({ usdc: 100n });
  const payment = await bench.served(await chain.sign(payer, { value: 50n }));
  const hash = bytes32(`0x${'ab'.repeat(32)}`);
  await bench.books.outcomes.recordAdopted(payment.id, hash, { number: 1n, hash });
  await bench.books.reorgs.recordGone(hash);
  expect(await settle(payment)).toMatchObject({ kind: 'settled' });
  expect(await transfersOf(payment)).toHaveLength(1);
});

test('an intent that another gateway opened again comes to its end', async () => {
  bench = await startBench(chain, { settings: { finalityMs: 60_000 } });
  const payer = await chain.newPayer({ usdc: 100n });
  const payment = await bench.served(await chain.sign(payer, { value: 50n }));
  const settled = await settle(payment);
  if (settled.kind !== 'settled') throw new Error(`it is ${settled.kind}`);
  // As a gateway does that saw the transfer vanish and does not hold the relayer's key.
  await bench.books.reorgs.recordGone(settled.transaction);
  const { chainId, relayerAddress } = chain;
  const open = () => bench.books.intents.open(chainId, relayerAddress);
  await until(async () => (await open()).length === 0);
  expect(await settle(payment)).toMatchObject(settled);
});
