import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeFunctionData, hashTypedData, toEventSelector, toFunctionSelector } from 'viem';
import { BASE_CHAIN_ID, MULTICALL3_ADDRESS, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import {
  batchSettlementAbi,
  batchSettlementDomain,
  batchSettlementTypes,
  DEPOSIT_COLLECTOR_ADDRESS,
  WITHDRAW_DELAY_SECONDS_MAX,
  WITHDRAW_DELAY_SECONDS_MIN,
  type ChannelConfig,
} from '../../contracts-abi/batch-settlement.js';
import { multicall3Abi } from '../../contracts-abi/multicall3.js';
import { address, type Hex } from '../../gateway/ground/domain/units.js';
import { randomNonce } from '../support/chain.js';
import {
  channelCall,
  channelOf,
  channelState,
  depositCall,
  idOf,
  settlement,
  signDeposit,
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
let outcome: SettlementWorld['outcome'];
beforeAll(async () => {
  ({ chain, relayer, openChannel, outcome } = await startSettlementWorld());
});
afterAll(() => chain.stop());

describe('the interface', () => {
  test('has the selectors, topics and errors of the deployed contract', () => {
    const found = Object.fromEntries(
      batchSettlementAbi.map((item) => [
        item.name,
        item.type === 'event'
          ? toEventSelector(item).slice(2, 10)
          : item.type === 'error'
            ? toFunctionSelector(`function ${item.name}()`).slice(2)
            : toFunctionSelector(item).slice(2),
      ]),
    );
    expect(found).toMatchObject({
      deposit: '140f1e75',
      claim: '29237b0c',
      claimWithSignature: 'e43ce1f2',
      settle: '9db32a8f',
      refund: 'dce4bfae',
      refundWithSignature: 'b77433e9',
      initiateWithdraw: 'cf5cf3dc',
      finalizeWithdraw: 'e88377b1',
      multicall: 'ac9650d8',
      Deposited: '6c2a0935',
      Claimed: '36bd546b',
      Settled: '7337b438',
      Refunded: 'a84286cf',
      WithdrawInitiated: 'e4280d0d',
      WithdrawFinalized: '546ce1e2',
      ClaimExceedsBalance: '7d8242b6',
      ClaimExceedsCeiling: 'f1789775',
      InvalidSignature: '8baa579f',
      NotReceiverAuthorizer: 'f5e2237d',
      InvalidRefundNonce: '164f1afe',
      DepositCollectionFailed: 'eb43592c',
      EmptyBatch: 'c2e5347d',
    });
  });

  test('hashes channels, vouchers, refunds and claims by EIP-712 for its own address', async () => {
    const { payer, config } = await openChannel(1_000n);
    const id = idOf(config);
    const typed = { domain: batchSettlementDomain(BASE_CHAIN_ID), types: batchSettlementTypes };
    const rows = [await row(payer, config, 70n, 50n), await row(payer, config, 90n, 80n)];
    const read = { address: settlement, abi: batchSettlementAbi } as const;
    const { client } = chain;
    expect(
      await client.readContract({ ...read, functionName: 'getChannelId', args: [config] }),
    ).toBe(id);
    expect(
      await client.readContract({ ...read, functionName: 'getVoucherDigest', args: [id, 70n] }),
    ).toBe(
      hashTypedData({
        ...typed,
        primaryType: 'Voucher',
        message: { channelId: id, maxClaimableAmount: 70n },
      }),
    );
    expect(
      await client.readContract({ ...read, functionName: 'getRefundDigest', args: [id, 3n, 9n] }),
    ).toBe(
      hashTypedData({
        ...typed,
        primaryType: 'Refund',
        message: { channelId: id, nonce: 3n, amount: 9n },
      }),
    );
    expect(
      await client.readContract({ ...read, functionName: 'getClaimBatchDigest', args: [rows] }),
    ).toBe(
      hashTypedData({
        ...typed,
        primaryType: 'ClaimBatch',
        message: {
          claims: [
            { channelId: id, maxClaimableAmount: 70n, totalClaimed: 50n },
            { channelId: id, maxClaimableAmount: 90n, totalClaimed: 80n },
          ],
        },
      }),
    );
  });
});

describe('a deposit', () => {
  test('opens a channel, and another one tops it up', async () => {
    const { payer, config, opened } = await openChannel(1_000n);
    const deposited = { eventName: 'Deposited', channelId: idOf(config), sender: relayer };
    expect(events(opened)).toEqual([{ ...deposited, amount: 1_000n, newBalance: 1_000n }]);
    const more = depositCall(config, await signDeposit(payer, config, 500n));
    expect(events(await chain.send(settlement, more, 500_000n))).toEqual([
      { ...deposited, amount: 500n, newBalance: 1_500n },
    ]);
    expect(await channelState(chain, config)).toMatchObject({ balance: 1_500n, totalClaimed: 0n });
    expect(await chain.balance(payer.address)).toBe(1_000_000n - 1_500n);
  });

  test('is taken once, and only into the channel that was signed', async () => {
    const payer = await chain.newPayer({ usdc: 1_000n });
    const parties = { receiver: chain.payTo, receiverAuthorizer: authorizer.address };
    const config = channelOf(payer, parties);
    const signed = await signDeposit(payer, config, 400n);
    const elsewhere = { ...config, receiver: relayer };
    expect(await outcome(depositCall(elsewhere, signed))).toContain('invalid signature');
    await chain.send(settlement, depositCall(config, signed), 500_000n);
    expect(await outcome(depositCall(config, signed))).toContain('used or canceled');
    expect(await channelState(chain, config)).toMatchObject({ balance: 400n });
  });

  test('is refused without parties, without a value and with a delay out of range', async () => {
    const payer = await chain.newPayer({ usdc: 1_000n });
    const parties = { receiver: chain.payTo, receiverAuthorizer: authorizer.address };
    const config = channelOf(payer, parties);
    const deposit = async (change: Partial<ChannelConfig>, amount = 400n) => {
      const changed = { ...config, ...change };
      return outcome(depositCall(changed, await signDeposit(payer, changed, amount)));
    };
    expect(await deposit({ receiver: NOBODY })).toBe('InvalidChannel');
    expect(await deposit({ receiverAuthorizer: NOBODY })).toBe('InvalidChannel');
    expect(await deposit({ withdrawDelay: WITHDRAW_DELAY_SECONDS_MIN - 1 })).toBe(
      'WithdrawDelayOutOfRange',
    );
    expect(await deposit({ withdrawDelay: WITHDRAW_DELAY_SECONDS_MIN })).toBe('passes');
    expect(await deposit({ withdrawDelay: WITHDRAW_DELAY_SECONDS_MAX })).toBe('passes');
    expect(await deposit({ withdrawDelay: WITHDRAW_DELAY_SECONDS_MAX + 1 })).toBe(
      'WithdrawDelayOutOfRange',
    );
    expect(await deposit({}, 0n)).toBe('ZeroDeposit');
    expect(await deposit({}, 1_001n)).toContain('transfer amount exceeds balance');
  });

  test('has to bring its tokens: another collector that brings none is refused', async () => {
    const { payer, config } = await openChannel(1_000n);
    const signed = await signDeposit(payer, config, 10n);
    const withCollector = (collector: Hex) =>
      depositCall(config, signed).replace(DEPOSIT_COLLECTOR_ADDRESS.slice(2), collector.slice(2));
    // Code that does nothing but return.
    const idle = `0x${'c0'.repeat(20)}` as const;
    await chain.client.setCode({ address: idle, bytecode: '0x00' });
    expect(await outcome(withCollector(idle) as Hex)).toBe('DepositCollectionFailed');
    expect(await outcome(withCollector(DEPOSIT_COLLECTOR_ADDRESS) as Hex)).toBe('passes');
  });
});

describe('many calls in one transaction', () => {
  test('claim and sweep together, or do nothing at all', async () => {
    const { payer, config, receiver } = await openChannel(1_000n);
    const sweep = channelCall('settle', [receiver, USDC_ADDRESS]);
    const both = channelCall('multicall', [[await claimOf(await row(payer, config, 60n)), sweep]]);
    const broken = await claimOf(await row(payer, config, 80n, 81n));
    expect(await outcome(channelCall('multicall', [[sweep, broken]]))).toBe('ClaimExceedsCeiling');
    expect((await chain.send(settlement, both, 500_000n)).status).toBe('success');
    expect(await chain.balance(receiver)).toBe(60n);
  });
});

test('deposits, claims, sweeps and refunds cost about as much gas as with the deployed contract', async () => {
  const receiver = address(`0x${randomNonce().slice(-40)}`);
  await chain.fund([receiver], 1n);
  const first = await openChannel(1_000n, { receiver });
  const topUp = await chain.send(
    settlement,
    depositCall(first.config, await signDeposit(first.payer, first.config, 1_000n)),
    500_000n,
  );
  const payers = await chain.newPayers(64, { usdc: 1_000n });
  const configs = payers.map((payer) =>
    channelOf(payer, { receiver, receiverAuthorizer: authorizer.address }),
  );
  const calls = await Promise.all(
    payers.map(async (payer, index) => {
      const config = configs[index] ?? first.config;
      const callData = depositCall(config, await signDeposit(payer, config, 1_000n));
      return { target: settlement, allowFailure: false, callData };
    }),
  );
  const deposits = encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    args: [calls],
  });
  const batch = await chain.send(address(MULTICALL3_ADDRESS), deposits, 16_000_000n);
  const rows = await Promise.all(
    payers.map((payer, index) => row(payer, configs[index] ?? first.config, 100n)),
  );
  const claim = await chain.send(settlement, await claimOf(...rows), 8_000_000n);
  const sweep = channelCall('settle', [receiver, USDC_ADDRESS]);
  const gas = {
    deposit: first.opened.gasUsed,
    topUp: topUp.gasUsed,
    depositOf64: batch.gasUsed / 64n,
    claimOf64: claim.gasUsed / 64n,
    settle: (await chain.send(settlement, sweep, 200_000n)).gasUsed,
    settleNothing: (await chain.send(settlement, sweep, 200_000n)).gasUsed,
  };
  // Measured with the deployed contract's own code; this one may differ by a tenth.
  const deployed = {
    deposit: 131_091,
    topUp: 110_111,
    depositOf64: 96_320,
    claimOf64: 24_240,
    settle: 53_196,
    settleNothing: 25_228,
  };
  const share = Object.entries(deployed).map(
    ([name, units]) => [name, Number(gas[name as keyof typeof gas]) / units] as const,
  );
  expect(share.filter(([, part]) => part < 0.9 || part > 1.1)).toEqual([]);
});
