import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  createWalletClient,
  decodeErrorResult,
  encodeFunctionData,
  hashTypedData,
  http,
  parseEther,
  parseEventLogs,
  toEventSelector,
  toFunctionSelector,
  type TransactionReceipt,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { base } from 'viem/chains';
import { BASE_CHAIN_ID, MULTICALL3_ADDRESS, USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import { TestWalletFactory } from '../../contracts-abi/artifacts/TestWalletFactory.js';
import {
  batchSettlementAbi,
  batchSettlementDomain,
  batchSettlementTypes,
  DEPOSIT_COLLECTOR_ADDRESS,
  type ChannelConfig,
} from '../../contracts-abi/batch-settlement.js';
import { testWalletFactoryAbi } from '../../contracts-abi/erc1271.js';
import { multicall3Abi } from '../../contracts-abi/multicall3.js';
import { address, type Address, type Hex } from '../../gateway/ground/domain/units.js';
import { randomNonce, startTestChain, type Payer, type TestChain } from '../support/chain.js';
import {
  channelCall,
  channelOf,
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

const authorizer = privateKeyToAccount(`0x${'a7'.repeat(32)}`);
const NOBODY = `0x${'0'.repeat(40)}` as const;
let chain: TestChain;
let relayer: Address;
beforeAll(async () => {
  const anvilArgs = ['--gas-limit', '60000000'];
  chain = await startTestChain({ blockTimeSeconds: 'manual', anvilArgs });
  relayer = chain.relayerAddress;
  await chain.client.setBalance({ address: authorizer.address, value: parseEther('10') });
});
afterAll(() => chain.stop());

/** A payer with USDC and ETH, and a channel of theirs into which they have put `deposit` units. */
async function openChannel(deposit: bigint, change: Partial<ChannelConfig> = {}) {
  const payer = await chain.newPayer({ usdc: 1_000_000n });
  await chain.client.setBalance({ address: payer.address, value: parseEther('10') });
  const receiver = address(`0x${randomNonce().slice(-40)}`);
  const config = channelOf(payer, { receiver, receiverAuthorizer: authorizer.address, ...change });
  const opened = await chain.send(
    settlement,
    depositCall(config, await signDeposit(payer, config, deposit)),
    1_000_000n,
  );
  expect(opened.status).toBe('success');
  return { payer, config, receiver, opened };
}

/** Sends from an account of the test's, with ETH of its own. */
async function sendAs(account: Payer['account'], data: Hex): Promise<TransactionReceipt> {
  const wallet = createWalletClient({ account, chain: base, transport: http(chain.rpcUrl) });
  const hash = await wallet.sendTransaction({ to: settlement, data, gas: 1_000_000n });
  await chain.mine();
  return chain.client.getTransactionReceipt({ hash });
}

/** How this call would end: `passes`, the name of the contract's error, or the token's words. */
async function outcome(data: Hex, from: Hex = relayer, to: Hex = settlement): Promise<string> {
  // Not through viem: anvil's message shows some selectors as text, and only `data` is exact.
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: [{ from, to, data }, 'latest'],
  };
  const response = await fetch(chain.rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  const { error } = (await response.json()) as { error?: { message: string; data?: Hex } };
  if (error === undefined) return 'passes';
  if (error.data?.length !== 10) return error.message;
  return decodeErrorResult({ abi: batchSettlementAbi, data: error.data }).errorName;
}

const row = async (payer: Payer, config: ChannelConfig, ceiling: bigint, total = ceiling) =>
  claimRow(config, ceiling, await signVoucher(payer.account, config, ceiling), total);

const claimOf = async (...rows: readonly ClaimRow[]) =>
  claimCall(rows, await signClaims(authorizer, rows));

/** The settlement contract's events of a transaction, addresses in lower case. */
const events = ({ logs }: TransactionReceipt) =>
  parseEventLogs({ abi: batchSettlementAbi, logs }).map(({ eventName, args }) => ({
    eventName,
    ...Object.fromEntries(
      Object.entries(args).map(([name, value]) => [
        name,
        typeof value === 'string' ? value.toLowerCase() : value,
      ]),
    ),
  }));

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
    expect(await deposit({ withdrawDelay: 899 })).toBe('WithdrawDelayOutOfRange');
    expect(await deposit({ withdrawDelay: 900 })).toBe('passes');
    expect(await deposit({ withdrawDelay: 2_592_000 })).toBe('passes');
    expect(await deposit({ withdrawDelay: 2_592_001 })).toBe('WithdrawDelayOutOfRange');
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
