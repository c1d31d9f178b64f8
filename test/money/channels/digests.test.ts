import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { hashTypedData } from 'viem';
import {
  batchSettlementDomain,
  batchSettlementTypes,
  channelIdOf,
  depositNonce as nonceOf,
} from '../../../contracts-abi/batch-settlement.js';
import { USDC_ADDRESS, USDC_DOMAIN } from '../../../contracts-abi/addresses.js';
import { authorizationTypes } from '../../../contracts-abi/usdc.js';
import { address, bytes32 } from '../../../gateway/ground/domain/units.js';
import {
  createChannelDigests,
  createDepositDigest,
  depositNonce,
} from '../../../gateway/money/channels/digests.js';

const hexOf = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value) => `0x${Buffer.from(value).toString('hex')}`);
const someAddress = hexOf(20).map(address);
const someHash = hexOf(32).map(bytes32);
const uint128 = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n });
const config = fc.record({
  payer: someAddress,
  payerAuthorizer: someAddress,
  receiver: someAddress,
  receiverAuthorizer: someAddress,
  token: someAddress,
  withdrawDelay: fc.integer({ min: 0, max: 2 ** 40 - 1 }),
  salt: someHash,
});
const CHAIN = 8453;
const digests = createChannelDigests(CHAIN);
const domain = batchSettlementDomain(CHAIN);
const types = batchSettlementTypes;

test('a channel id is what the general encoder makes of its configuration', () => {
  fc.assert(
    fc.property(config, (one) => {
      expect(digests.channelId(one)).toBe(channelIdOf(one, CHAIN));
    }),
  );
});

test('the digests of vouchers, refunds and claims are the general encoder’s', () => {
  const entry = fc.record({
    channelId: someHash,
    maxClaimableAmount: uint128,
    totalClaimed: uint128,
  });
  fc.assert(
    fc.property(
      someHash,
      uint128,
      fc.array(entry, { maxLength: 5 }),
      (channelId, amount, claims) => {
        const voucher = { channelId, maxClaimableAmount: amount };
        expect(digests.voucher(channelId, amount)).toBe(
          hashTypedData({ domain, types, primaryType: 'Voucher', message: voucher }),
        );
        const refund = { channelId, nonce: 7n, amount };
        expect(digests.refund(channelId, 7n, amount)).toBe(
          hashTypedData({ domain, types, primaryType: 'Refund', message: refund }),
        );
        expect(digests.claims(claims)).toBe(
          hashTypedData({ domain, types, primaryType: 'ClaimBatch', message: { claims } }),
        );
      },
    ),
  );
});

test('a deposit’s nonce and digest are the general encoder’s', () => {
  const token = { ...USDC_DOMAIN, chainId: CHAIN, verifyingContract: address(USDC_ADDRESS) };
  const digest = createDepositDigest(token);
  const deposit = fc.record({
    from: someAddress,
    to: someAddress,
    value: uint128,
    validAfter: fc.bigInt({ min: 0n, max: 2n ** 47n }),
    validBefore: fc.bigInt({ min: 0n, max: 2n ** 47n }),
    nonce: someHash,
  });
  fc.assert(
    fc.property(deposit, fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (message, salt) => {
      expect(depositNonce(message.nonce, salt)).toBe(nonceOf(message.nonce, salt));
      expect(digest(message)).toBe(
        hashTypedData({
          domain: token,
          types: authorizationTypes,
          primaryType: 'ReceiveWithAuthorization',
          message,
        }),
      );
    }),
  );
});
