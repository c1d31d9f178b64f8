import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { computeChannelId } from '@x402/evm/batch-settlement/client';
import { hashTypedData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { USDC_ADDRESS } from '../../contracts-abi/addresses.js';
import {
  BATCH_SETTLEMENT_ADDRESS,
  batchSettlementAbi,
  batchSettlementDomain,
  batchSettlementTypes,
  channelIdOf,
  DEPOSIT_COLLECTOR_ADDRESS,
  depositCollectorData,
  depositNonce,
} from '../../contracts-abi/batch-settlement.js';
import { authorizationTypes } from '../../contracts-abi/usdc.js';
import { address } from '../../gateway/ground/domain/units.js';
import { startTestChain, type TestChain } from '../support/chain.js';
import { channelVectors, type ChannelVector } from '../support/channel-vectors.js';
import { channelState, depositCall, refundCall, settlement } from '../support/channels.js';

const { channels, contracts } = channelVectors;

/** What is signed for a channel, from nothing but its configuration and the amounts. */
function typedData({ chainId, channelId, config, deposit, refund, claim }: ChannelVector) {
  const typed = { domain: batchSettlementDomain(chainId), types: batchSettlementTypes } as const;
  return {
    voucher: (maxClaimableAmount: string) =>
      ({
        ...typed,
        primaryType: 'Voucher',
        message: { channelId, maxClaimableAmount: BigInt(maxClaimableAmount) },
      }) as const,
    refund: {
      ...typed,
      primaryType: 'Refund',
      message: { channelId, nonce: BigInt(refund.nonce), amount: BigInt(refund.amount) },
    } as const,
    claim: {
      ...typed,
      primaryType: 'ClaimBatch',
      message: {
        claims: claim.rows.map((row) => ({
          channelId,
          maxClaimableAmount: BigInt(row.maxClaimableAmount),
          totalClaimed: BigInt(row.totalClaimed),
        })),
      },
    } as const,
    deposit: {
      domain: { ...deposit.tokenDomain, chainId, verifyingContract: config.token },
      types: authorizationTypes,
      primaryType: 'ReceiveWithAuthorization',
      message: {
        from: config.payer,
        to: DEPOSIT_COLLECTOR_ADDRESS,
        value: BigInt(deposit.amount),
        validAfter: BigInt(deposit.validAfter),
        validBefore: BigInt(deposit.validBefore),
        nonce: depositNonce(channelId, BigInt(deposit.salt)),
      },
    } as const,
  };
}

const signedDeposit = ({ deposit }: ChannelVector) => ({
  amount: BigInt(deposit.amount),
  validAfter: BigInt(deposit.validAfter),
  validBefore: BigInt(deposit.validBefore),
  salt: BigInt(deposit.salt),
  signature: deposit.signature,
});

describe('the published vectors', () => {
  test('name the contracts that the gateway uses', () => {
    expect(contracts).toEqual({
      settlement: BATCH_SETTLEMENT_ADDRESS,
      depositCollector: DEPOSIT_COLLECTOR_ADDRESS,
      token: USDC_ADDRESS,
    });
  });

  test.each(channels)('are what EIP-712 gives: $name', async (vector) => {
    const { channelId, config, chainId, deposit, refund, claim } = vector;
    const data = typedData(vector);
    const [payer, signer, authorizer] = [
      vector.payerKey,
      vector.voucherKey,
      vector.authorizerKey,
    ].map((key) => privateKeyToAccount(key));
    expect(channelIdOf(config, chainId)).toBe(channelId);
    expect(computeChannelId(config, chainId)).toBe(channelId);
    for (const { maxClaimableAmount, digest, signature } of vector.vouchers) {
      const voucher = data.voucher(maxClaimableAmount);
      expect(hashTypedData(voucher)).toBe(digest);
      expect(await signer?.signTypedData(voucher)).toBe(signature);
    }
    expect(data.deposit.message.nonce).toBe(deposit.nonce);
    expect(hashTypedData(data.deposit)).toBe(deposit.digest);
    expect(await payer?.signTypedData(data.deposit)).toBe(deposit.signature);
    expect(depositCollectorData(signedDeposit(vector))).toBe(deposit.collectorData);
    expect(hashTypedData(data.refund)).toBe(refund.digest);
    expect(await authorizer?.signTypedData(data.refund)).toBe(refund.signature);
    expect(hashTypedData(data.claim)).toBe(claim.digest);
    expect(await authorizer?.signTypedData(data.claim)).toBe(claim.signature);
  });
});

describe('the development contract', () => {
  let chain: TestChain;
  beforeAll(async () => {
    chain = await startTestChain({ blockTimeSeconds: 'manual' });
  });
  afterAll(() => chain.stop());

  test('has the digests of the vectors, and takes their deposit and their refund', async () => {
    const vector = channels.find(({ chainId }) => chainId === chain.chainId);
    if (!vector) throw new Error('no vector is for the test chain');
    const { config, channelId, refund, claim } = vector;
    const read = { address: settlement, abi: batchSettlementAbi } as const;
    const { client } = chain;
    for (const { maxClaimableAmount, digest } of vector.vouchers) {
      const args = [channelId, BigInt(maxClaimableAmount)] as const;
      expect(await client.readContract({ ...read, functionName: 'getVoucherDigest', args })).toBe(
        digest,
      );
    }
    const rows = claim.rows.map((row) => ({
      voucher: { channel: config, maxClaimableAmount: BigInt(row.maxClaimableAmount) },
      signature: '0x' as const,
      totalClaimed: BigInt(row.totalClaimed),
    }));
    expect(
      await client.readContract({ ...read, functionName: 'getClaimBatchDigest', args: [rows] }),
    ).toBe(claim.digest);

    const deposit = signedDeposit(vector);
    await chain.fund([address(config.payer)], deposit.amount);
    const opened = await chain.send(settlement, depositCall(config, deposit), 500_000n);
    expect(opened.status).toBe('success');
    const amount = BigInt(refund.amount);
    const back = refundCall(config, { ...refund, amount, nonce: BigInt(refund.nonce) });
    expect((await chain.send(settlement, back, 500_000n)).status).toBe('success');
    expect(await channelState(chain, config)).toMatchObject({
      balance: deposit.amount - amount,
      refundNonce: 1n,
    });
  });
});
