import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseAbiItem } from 'viem';
import type { Movement } from '../../commands/ledger/movement.js';
import { movements, ownWallets } from '../../commands/ledger/movements.js';
import type { ChannelTx } from '../../gateway/money/channel-books/tables.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { startClaims } from '../support/claims.js';
import { until } from '../support/until.js';

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const TRANSFER = parseAbiItem(
  'event Transfer(address indexed from, address indexed to, uint256 value)',
);
const DEPOSIT = 1_000_000n;
const EARNED = 900_000n;

test('claims, payouts and refunds add up by transaction to what the token moved', async () => {
  const claims = await startClaims(chain);
  const { store } = claims.bench;
  const channel = await claims.open(await chain.newPayer({ usdc: DEPOSIT }), { deposit: DEPOSIT });
  const all = async () => {
    const found: Movement[] = [];
    for await (const one of movements(store, () => undefined, {})) found.push(one);
    return found;
  };
  const kinds = async () => (await all()).map(({ kind }) => kind);
  // Twice: the second claim is of what came since, not of all that was ever charged.
  await claims.charge(channel, EARNED / 2n);
  expect(await claims.round()).toBe(1);
  await until(async () => (await kinds()).includes('gas'));
  await claims.look();
  await claims.charge(channel, EARNED);
  expect(await claims.round()).toBe(1);
  await until(async () => (await kinds()).filter((kind) => kind === 'gas').length === 2);
  await claims.look();
  const charged = await claims.vouchers.find(channel.id);
  if (!charged) throw new Error('no channel');
  const refund = claims.refunds.refund(charged, undefined, { waitMs: 20_000 });
  expect(await refund).toMatchObject({ kind: 'refunded' });
  await until(async () => (await kinds()).filter((kind) => kind === 'gas').length === 3);

  // A search that a voucher was charged for moves no token.
  const voucher = { channel_id: channel.id, cumulative: 50n, binding: '0x', owner: 'test' };
  await store.write((tx: ChannelTx) =>
    tx
      .insertInto('channel_vouchers')
      .values({ ...voucher, request_id: 'one', price: 50n, reserved_at: 1n, charged_at: 2n })
      .execute(),
  );

  const found = await all();
  const payer = channel.payer.address.toLowerCase();
  const money = found.filter(({ kind }) => kind !== 'gas');
  expect(money.map((row) => [row.kind, row.payer === payer, row.amount])).toEqual([
    ['voucher charge', true, 50n],
    ['claim', true, EARNED / 2n],
    ['payout', false, EARNED / 2n],
    ['claim', true, EARNED / 2n],
    ['payout', false, EARNED / 2n],
    ['refund', true, DEPOSIT - EARNED],
  ]);
  expect(money[0]).toMatchObject({ requestId: 'one', moved: 0n, at: 2 });
  for (const { transaction } of found.filter(({ kind }) => kind === 'gas')) {
    const inBooks = found.filter((row) => row.transaction === transaction);
    const hash = transaction as `0x${string}`;
    const { blockHash } = await chain.client.getTransactionReceipt({ hash });
    const logs = await chain.client.getLogs({ address: chain.asset, event: TRANSFER, blockHash });
    const onChain = logs.filter(({ transactionHash }) => transactionHash === hash);
    expect(onChain.length).toBe(1);
    const moved = inBooks.reduce((sum, row) => sum + (row.moved ?? 0n), 0n);
    expect(moved).toBe(onChain.reduce((sum, { args }) => sum + (args.value ?? 0n), 0n));
  }
  const own = await ownWallets(store);
  expect(found.filter(({ kind }) => kind === 'gas').every((row) => own.has(row.payer))).toBe(true);
  expect(own.has(payer)).toBe(false);
  await claims.stop();
});
