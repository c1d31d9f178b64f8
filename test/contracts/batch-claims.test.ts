import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeFunctionData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import { TestWalletFactory } from '../../contracts-abi/artifacts/TestWalletFactory.js';
import { type ChannelConfig } from '../../contracts-abi/batch-settlement.js';
import { testWalletFactoryAbi } from '../../contracts-abi/erc1271.js';
import { address, type Hex } from '../../gateway/ground/domain/units.js';
import { randomNonce, type Payer } from '../support/chain.js';
import {
  channelCall,
  channelState,
  claimCall,
  claimRow,
  depositCall,
  idOf,
  refundCall,
  settlement,
  signClaims,
  signDeposit,
  signRefund,
  signVoucher,
  type ClaimRow,
} from '../support/channels.js';
import {
  authorizer,
  claimOf,
  events,
  row,
  startSettlementWorld,
  type SettlementWorld,
} from '../support/settlement-world.js';

const NOBODY = `0x${'0'.repeat(40)}` as const;
let chain: SettlementWorld['chain'];
let relayer: SettlementWorld['relayer'];
let openChannel: SettlementWorld['openChannel'];
let sendAs: SettlementWorld['sendAs'];
let outcome: SettlementWorld['outcome'];
beforeAll(async () => {
  ({ chain, relayer, openChannel, sendAs, outcome } = await startSettlementWorld());
});
afterAll(() => chain.stop());

describe('a claim', () => {
  const claimed = (
    config: ChannelConfig,
    amount: bigint,
    total: bigint,
    sender: Hex = relayer,
  ) => ({
    eventName: 'Claimed',
    channelId: idOf(config),
    sender,
    claimAmount: amount,
    newTotalClaimed: total,
  });

  test('books many channels and moves nothing; one sweep then pays the receiver', async () => {
    const one = await openChannel(1_000n);
    const { receiver } = one;
    const two = await openChannel(1_000n, { receiver });
    const rows = [
      await row(one.payer, one.config, 70n, 50n),
      await row(two.payer, two.config, 90n),
    ];
    const booked = await chain.send(settlement, await claimOf(...rows), 1_000_000n);
    expect(events(booked)).toEqual([claimed(one.config, 50n, 50n), claimed(two.config, 90n, 90n)]);
    expect(await channelState(chain, one.config)).toMatchObject({
      balance: 1_000n,
      totalClaimed: 50n,
    });
    expect(await chain.balance(receiver)).toBe(0n);

    const sweep = channelCall('settle', [receiver, USDC_ADDRESS]);
    expect(events(await chain.send(settlement, sweep, 200_000n))).toEqual([
      { eventName: 'Settled', receiver, token: USDC_ADDRESS, sender: relayer, amount: 140n },
    ]);
    expect(await chain.balance(receiver)).toBe(140n);
    const nothing = await chain.send(settlement, sweep, 200_000n);
    expect(nothing).toMatchObject({ status: 'success', logs: [] });
  });

  test('passes over a row whose total is recorded already, and counts only what is new', async () => {
    const { payer, config, receiver } = await openChannel(1_000n);
    await chain.send(settlement, await claimOf(await row(payer, config, 70n)), 500_000n);
    const rows = [
      await row(payer, config, 60n),
      claimRow(config, 70n, '0x'),
      await row(payer, config, 100n),
    ];
    const receipt = await chain.send(settlement, await claimOf(...rows), 500_000n);
    expect(events(receipt)).toEqual([claimed(config, 30n, 100n)]);
    await chain.send(settlement, channelCall('settle', [receiver, USDC_ADDRESS]), 200_000n);
    expect(await chain.balance(receiver)).toBe(100n);
  });

  test('reverts as a whole for one row that is bad', async () => {
    const good = await openChannel(1_000n);
    const bad = await openChannel(100n);
    const with_ = async (second: ClaimRow) =>
      outcome(await claimOf(await row(good.payer, good.config, 50n), second));
    expect(await with_(await row(bad.payer, bad.config, 50n, 51n))).toBe('ClaimExceedsCeiling');
    expect(await with_(await row(bad.payer, bad.config, 101n))).toBe('ClaimExceedsBalance');
    expect(await with_(await row(good.payer, bad.config, 50n))).toBe('InvalidSignature');
    expect(await with_(await row(bad.payer, bad.config, 100n))).toBe('passes');
    expect(await outcome(await claimOf())).toBe('EmptyBatch');
  });

  test('needs the one authorizer of all rows, or a sender of the receiver side', async () => {
    const { payer, config, receiver } = await openChannel(1_000n);
    const other = await openChannel(1_000n, { receiver, receiverAuthorizer: receiver });
    const rows = [await row(payer, config, 50n)];
    const mixed = [...rows, await row(other.payer, other.config, 50n)];
    expect(await outcome(await claimOf(...mixed))).toBe('NotReceiverAuthorizer');
    const byPayer = claimCall(rows, await signClaims(payer.account, rows));
    expect(await outcome(byPayer)).toBe('InvalidSignature');
    const direct = channelCall('claim', [rows]);
    expect(await outcome(direct)).toBe('NotAuthorizedToClaim');
    expect(await outcome(direct, authorizer.address)).toBe('passes');
    expect(await outcome(channelCall('claim', [mixed]), receiver)).toBe('passes');
    expect(await outcome(channelCall('claim', [mixed]), authorizer.address)).toBe(
      'NotAuthorizedToClaim',
    );
    const receipt = await sendAs(authorizer, direct);
    const sender = authorizer.address.toLowerCase() as Hex;
    expect(events(receipt)).toEqual([claimed(config, 50n, 50n, sender)]);
  });

  test('takes vouchers of a session key, and of a contract account without one', async () => {
    const session = privateKeyToAccount(`0x${'5e'.repeat(32)}`);
    const { payer, config } = await openChannel(1_000n, { payerAuthorizer: session.address });
    const signed = async (signer: Payer['account'], channel = config) =>
      outcome(await claimOf(claimRow(channel, 5n, await signVoucher(signer, channel, 5n))));
    expect(await signed(session)).toBe('passes');
    expect(await signed(payer.account)).toBe('InvalidSignature');
    // An authorizer with code is still asked for plain ECDSA.
    await chain.client.setCode({ address: session.address, bytecode: '0x00' });
    expect(await signed(session)).toBe('passes');

    const factory = `0x${'fa'.repeat(20)}` as const;
    const { data } = await chain.client.call({ data: TestWalletFactory.creationCode });
    await chain.client.setCode({ address: factory, bytecode: data ?? '0x' });
    const args = [payer.address, randomNonce()] as const;
    const call = { abi: testWalletFactoryAbi, args } as const;
    const wallet = address(
      await chain.client.readContract({ ...call, address: factory, functionName: 'addressOf' }),
    );
    await chain.send(
      address(factory),
      encodeFunctionData({ ...call, functionName: 'deploy' }),
      2_000_000n,
    );
    await chain.fund([wallet], 1_000n);
    const owned = { ...config, payer: wallet, payerAuthorizer: NOBODY };
    await chain.send(
      settlement,
      depositCall(owned, await signDeposit(payer, owned, 900n)),
      500_000n,
    );
    expect(await signed(payer.account, owned)).toBe('passes');
    expect(await signed(session, owned)).toBe('InvalidSignature');
  });
});

describe('a refund', () => {
  test('pays at most what is free, once for each nonce, which rises also when nothing moves', async () => {
    const { payer, config } = await openChannel(1_000n);
    await chain.send(settlement, await claimOf(await row(payer, config, 300n)), 500_000n);
    const refund = async (amount: bigint, nonce: bigint, signer = authorizer) =>
      refundCall(config, {
        amount,
        nonce,
        signature: await signRefund(signer, config, { amount, nonce }),
      });
    expect(await outcome(await refund(100n, 1n))).toBe('InvalidRefundNonce');
    expect(await outcome(await refund(100n, 0n, payer.account))).toBe('InvalidSignature');
    const first = await chain.send(settlement, await refund(800n, 0n), 500_000n);
    const refunded = { eventName: 'Refunded', channelId: idOf(config), sender: relayer };
    expect(events(first)).toEqual([{ ...refunded, amount: 700n }]);
    expect(await outcome(await refund(800n, 0n))).toBe('InvalidRefundNonce');
    const nothing = await chain.send(settlement, await refund(800n, 1n), 500_000n);
    expect(nothing).toMatchObject({ status: 'success', logs: [] });
    expect(await channelState(chain, config)).toMatchObject({
      balance: 300n,
      totalClaimed: 300n,
      refundNonce: 2n,
    });
    expect(await chain.balance(payer.address)).toBe(1_000_000n - 300n);
  });

  test('by the receiver itself needs no signature, and spoils one that was signed', async () => {
    const { payer, config, receiver } = await openChannel(1_000n);
    const signature = await signRefund(authorizer, config, { amount: 10n, nonce: 0n });
    const signed = refundCall(config, { amount: 10n, nonce: 0n, signature });
    const direct = channelCall('refund', [config, 10n]);
    expect(await outcome(direct)).toBe('NotAuthorizedToRefund');
    expect(await outcome(direct, payer.address)).toBe('NotAuthorizedToRefund');
    expect(await outcome(direct, receiver)).toBe('passes');
    expect(await outcome(signed)).toBe('passes');
    await sendAs(authorizer, direct);
    expect(await outcome(signed)).toBe('InvalidRefundNonce');
  });
});

describe('a withdrawal', () => {
  const DELAY_SECONDS = 900;

  test('pays after the delay what is free then, so that a claim in between comes first', async () => {
    const { payer, config } = await openChannel(1_000n, { withdrawDelay: DELAY_SECONDS });
    const start = await sendAs(payer.account, channelCall('initiateWithdraw', [config, 1_000n]));
    const { timestamp } = await chain.client.getBlock({ blockHash: start.blockHash });
    const finalizeAfter = Number(timestamp) + DELAY_SECONDS;
    expect(events(start)).toEqual([
      { eventName: 'WithdrawInitiated', channelId: idOf(config), amount: 1_000n, finalizeAfter },
    ]);
    expect(await channelState(chain, config)).toMatchObject({
      balance: 1_000n,
      pendingAmount: 1_000n,
      initiatedAt: Number(timestamp),
    });
    const finish = channelCall('finalizeWithdraw', [config]);
    expect(await outcome(finish, payer.address)).toBe('WithdrawDelayNotElapsed');
    await chain.send(settlement, await claimOf(await row(payer, config, 200n)), 500_000n);
    await chain.client.setNextBlockTimestamp({ timestamp: BigInt(finalizeAfter) });
    const end = await sendAs(payer.account, finish);
    expect(events(end)).toEqual([
      {
        eventName: 'WithdrawFinalized',
        channelId: idOf(config),
        sender: payer.address,
        amount: 800n,
      },
    ]);
    expect(await channelState(chain, config)).toMatchObject({
      balance: 200n,
      totalClaimed: 200n,
      initiatedAt: 0,
    });
    expect(await outcome(finish, payer.address)).toBe('WithdrawalNotPending');
  });

  test("is the payer side's alone, one at a time, and not of more than is free", async () => {
    const session = privateKeyToAccount(`0x${'5f'.repeat(32)}`);
    const { payer, config } = await openChannel(1_000n, { payerAuthorizer: session.address });
    const start = (amount: bigint) => channelCall('initiateWithdraw', [config, amount]);
    expect(await outcome(start(10n))).toBe('NotAuthorizedToWithdraw');
    expect(await outcome(start(10n), authorizer.address)).toBe('NotAuthorizedToWithdraw');
    expect(await outcome(start(10n), session.address)).toBe('passes');
    expect(await outcome(start(0n), payer.address)).toBe('NothingToWithdraw');
    expect(await outcome(start(1_001n), payer.address)).toBe('WithdrawAmountExceedsAvailable');
    await sendAs(payer.account, start(10n));
    expect(await outcome(start(10n), payer.address)).toBe('WithdrawalAlreadyPending');
  });
});
