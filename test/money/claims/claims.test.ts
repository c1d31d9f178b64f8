import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestChain, type TestChain } from '../../support/chain.js';
import { channelState } from '../../support/channels.js';
import { startClaims, withdraw } from '../../support/claims.js';
import { until } from '../../support/until.js';

let chain: TestChain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

/** Enough for a claim at any gas price that anvil starts with. */
const EARNED = 900_000n;
const DEPOSIT = 1_000_000n;

const newPayer = () => chain.newPayer({ usdc: DEPOSIT });
type Claims = Awaited<ReturnType<typeof startClaims>>;
const open = async (claims: Claims) => claims.open(await newPayer(), { deposit: DEPOSIT });
const claimedOf = async ({ config }: Awaited<ReturnType<typeof open>>) =>
  (await channelState(chain, config)).totalClaimed;

test('channels that have earned their claim are claimed together, and the payee is paid', async () => {
  const claims = await startClaims(chain);
  const [first, second, poor] = [await open(claims), await open(claims), await open(claims)];
  await claims.charge(first, EARNED);
  await claims.charge(second, EARNED, DEPOSIT);
  await claims.charge(poor, 50n);
  const before = await chain.balance(chain.payTo);
  expect(await claims.round()).toBe(2);
  await until(async () => (await claimedOf(first)) === EARNED);
  // What was charged is claimed, not what was signed.
  expect(await claimedOf(second)).toBe(EARNED);
  expect(await claimedOf(poor)).toBe(0n);
  expect((await chain.balance(chain.payTo)) - before).toBe(2n * EARNED);
  // The books follow the chain, and then nothing is left to do.
  await until(
    async () => (await claims.round()) === 0 && (await claims.books.unclaimed()).length === 1,
  );
  expect((await claims.books.totals()).unclaimed).toBe(50n);
  await claims.stop();
});

test('a withdrawal is answered with a claim at once, and finishes without what is owed', async () => {
  const claims = await startClaims(chain);
  const channel = await open(claims);
  await claims.charge(channel, 50n);
  expect(await claims.round()).toBe(0);
  await withdraw(chain, channel, { start: DEPOSIT });
  expect(await claims.round()).toBe(1);
  await until(async () => (await claimedOf(channel)) === 50n);
  await claims.look();
  expect(await claims.vouchers.find(channel.id)).toMatchObject({
    onChain: { claimed: 50n, withdrawal: { amount: DEPOSIT } },
  });
  await chain.client.increaseTime({ seconds: channel.config.withdrawDelay });
  await withdraw(chain, channel, 'finish');
  expect(await chain.balance(channel.payer.address)).toBe(DEPOSIT - 50n);
  await claims.look();
  const after = await claims.vouchers.find(channel.id);
  expect(after?.onChain).toMatchObject({ balance: 50n, claimed: 50n });
  expect(after?.onChain.withdrawal).toBeUndefined();
  await claims.stop();
});

test('a bad row stops no other channel', async () => {
  const claims = await startClaims(chain);
  const channels = [];
  for (let index = 0; index < 5; index += 1) channels.push(await open(claims));
  for (const channel of channels) await claims.charge(channel, EARNED);
  const [bad, ...good] = channels;
  if (!bad) throw new Error('no channel');
  // More than was deposited: the contract refuses the whole claim for this row.
  await claims.charge(bad, DEPOSIT + 1n);
  expect(await claims.round()).toBe(good.length);
  for (const channel of good) await until(async () => (await claimedOf(channel)) === EARNED);
  expect(await claimedOf(bad)).toBe(0n);
  await claims.stop();
});

test('a search that was charged long ago is claimed before it has earned it, if it is worth it', async () => {
  let aheadMs = 0;
  const claims = await startClaims(chain, {
    claims: { costPercentMax: 0, deadlineMs: 3_600_000 },
    aheadMs: () => aheadMs,
  });
  const [worth, dust] = [await open(claims), await open(claims)];
  await claims.charge(worth, EARNED);
  await claims.charge(dust, 1n);
  expect(await claims.round()).toBe(0);
  aheadMs = 3_600_000;
  expect(await claims.round()).toBe(1);
  await until(async () => (await claimedOf(worth)) === EARNED);
  expect(await claimedOf(dust)).toBe(0n);
  await claims.stop();
});

test('a claim that was signed before a crash goes out once, by the next process', async () => {
  const first = await startClaims(chain, {
    // It dies between the commit of the signed bytes and their broadcast.
    checkpoint: (step) =>
      step === 'after-sign-commit' ? new Promise(() => undefined) : Promise.resolve(),
  });
  const channel = await open(first);
  await first.charge(channel, EARNED);
  void first.round();
  await until(() => first.bench.books.intents.isOpen(chain.chainId, 'claim'));
  const { location } = first.bench;
  await first.bench.crash();
  const second = await startClaims(chain, { location });
  await until(async () => (await claimedOf(channel)) === EARNED);
  await until(
    async () => (await second.round()) === 0 && (await second.books.unclaimed()).length === 0,
  );
  await second.stop();
});

test('a deposit that a reorganization takes back leaves the books again', async () => {
  const claims = await startClaims(chain);
  const channel = await open(claims);
  await claims.look();
  expect((await claims.vouchers.find(channel.id))?.onChain.balance).toBe(DEPOSIT);
  expect((await claims.vouchers.find(channel.id))?.safeBalance).toBe(0n);
  await chain.client.request({ method: 'anvil_reorg' as never, params: [3, []] as never });
  await chain.mine(1);
  expect(await channelState(chain, channel.config)).toMatchObject({ balance: 0n });
  await claims.look();
  expect((await claims.vouchers.find(channel.id))?.onChain.balance).toBe(0n);
  await claims.stop();
});

describe('refunds', () => {
  test('what a channel has not spent goes back, after a claim of what it has', async () => {
    const claims = await startClaims(chain);
    const channel = await open(claims);
    await claims.charge(channel, EARNED);
    await claims.look();
    const known = await claims.vouchers.find(channel.id);
    if (!known) throw new Error('an unknown channel');
    const answer = await claims.refunds.refund(known, undefined, { waitMs: 20_000 });
    expect(answer).toMatchObject({ kind: 'refunded', amount: DEPOSIT - EARNED });
    expect(await chain.balance(channel.payer.address)).toBe(DEPOSIT - EARNED);
    expect(await claimedOf(channel)).toBe(EARNED);
    // Frozen until its block is safe: a reorganization could give the money back to both.
    await claims.round();
    expect((await claims.vouchers.find(channel.id))?.frozenAt).toBeDefined();
    await chain.mine(64);
    await until(async () => {
      await claims.round();
      return (await claims.vouchers.find(channel.id))?.frozenAt === undefined;
    });
    await claims.stop();
  });

  test('a channel stays frozen while its refund is being signed', async () => {
    let sign: () => void = () => undefined;
    const signs = new Promise<void>((resolve) => (sign = resolve));
    let isAsked = false;
    const claims = await startClaims(chain, {
      authorizer: (real) => ({
        ...real,
        signRefund: async (refund) => {
          isAsked = true;
          await signs;
          return real.signRefund(refund);
        },
      }),
    });
    const channel = await open(claims);
    await claims.charge(channel, EARNED);
    await claims.look();
    const known = await claims.vouchers.find(channel.id);
    if (!known) throw new Error('an unknown channel');
    const answer = claims.refunds.refund(known, undefined, { waitMs: 20_000 });
    await until(() => isAsked);
    await claims.round();
    const meanwhile = await claims.vouchers.find(channel.id);
    sign();
    expect(await answer).toMatchObject({ kind: 'refunded' });
    expect(meanwhile?.frozenAt).toBeDefined();
    await claims.stop();
  });

  test('a refund that is mined keeps its channel frozen, though no look has seen it', async () => {
    const claims = await startClaims(chain);
    const channel = await open(claims);
    await claims.charge(channel, EARNED);
    await claims.look();
    const known = await claims.vouchers.find(channel.id);
    const sync = await claims.books.lastSync();
    if (!known || !sync) throw new Error('an unknown channel');
    await claims.refunds.refund(known, undefined, { waitMs: 20_000 });
    await until(async () => !(await claims.bench.books.intents.isOpen(chain.chainId, 'refund')));
    await claims.refunds.thaw(sync.safeBlock);
    expect((await claims.vouchers.find(channel.id))?.frozenAt).toBeDefined();
    await claims.stop();
  });

  test('what another gateway may still refund stays frozen for two minutes', async () => {
    let aheadMs = 0;
    const claims = await startClaims(chain, { isExclusive: false, aheadMs: () => aheadMs });
    const channel = await open(claims);
    await claims.charge(channel, EARNED);
    await claims.look();
    // As a gateway leaves it that dies before it has signed.
    await claims.books.freeze(channel.id);
    await chain.mine(64);
    await claims.round();
    expect((await claims.vouchers.find(channel.id))?.frozenAt).toBeDefined();
    aheadMs = 120_000;
    await claims.round();
    expect((await claims.vouchers.find(channel.id))?.frozenAt).toBeUndefined();
    await claims.stop();
  });

  test('a channel that has not earned its refund gets none, and keeps on working', async () => {
    const claims = await startClaims(chain);
    const channel = await open(claims);
    await claims.charge(channel, 50n);
    await claims.look();
    const known = await claims.vouchers.find(channel.id);
    if (!known) throw new Error('an unknown channel');
    expect(await claims.refunds.refund(known, undefined, { waitMs: 0 })).toEqual({
      kind: 'refused',
      because: 'not-earned',
    });
    expect((await claims.vouchers.find(channel.id))?.frozenAt).toBeUndefined();
    await claims.stop();
  });
});
