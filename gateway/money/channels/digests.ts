import { domainSeparator, keccak256, stringToHex } from 'viem';
import { batchSettlementDomain } from '../../../contracts-abi/batch-settlement.js';
import { bytes32, type Address, type Bytes32, type Hex } from '../../ground/domain/units.js';
import { word } from '../payment/encode.js';
import type { ChannelConfig } from '../x402/channel-payload.js';

/** EIP-712, `typeHash`. */
const typeHash = (type: string): Hex => keccak256(stringToHex(type));

const CHANNEL = typeHash(
  'ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)',
);
const VOUCHER = typeHash('Voucher(bytes32 channelId,uint128 maxClaimableAmount)');
const REFUND = typeHash('Refund(bytes32 channelId,uint256 nonce,uint128 amount)');
const RECEIVE = typeHash(
  'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
);
const CLAIM_ENTRY_TYPE =
  'ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)';
const CLAIM_ENTRY = typeHash(CLAIM_ENTRY_TYPE);
const CLAIM_BATCH = typeHash(`ClaimBatch(ClaimEntry[] claims)${CLAIM_ENTRY_TYPE}`);

const hashWords = (...words: (bigint | number | Hex)[]): Hex =>
  keccak256(`0x${words.map(word).join('')}`);

/** One row of a claim. */
export interface ClaimEntry {
  readonly channelId: Bytes32;
  /** What the voucher allows in all. */
  readonly maxClaimableAmount: bigint;
  /** What has been claimed in all once this row is executed. */
  readonly totalClaimed: bigint;
}

/**
 * What is signed in a channel, on one chain (EIP-712). A general encoder takes some hundred
 * microseconds for each of these, and anybody may make us compute them; a test compares every one
 * with the general encoder's.
 */
export interface ChannelDigests {
  /** The id of a channel: the typed-data hash of its configuration, domain included. */
  channelId(config: ChannelConfig): Bytes32;
  /** What the payer's authorizer signs under a voucher. */
  voucher(channelId: Bytes32, maxClaimableAmount: bigint): Hex;
  /** What the receiver's authorizer signs to give `amount` back. */
  refund(channelId: Bytes32, nonce: bigint, amount: bigint): Hex;
  /** What the receiver's authorizer signs to claim these rows, in this order. */
  claims(entries: readonly ClaimEntry[]): Hex;
}

export function createChannelDigests(chainId: number): ChannelDigests {
  const separator = domainSeparator({ domain: batchSettlementDomain(chainId) }).slice(2);
  const typed = (struct: Hex): Bytes32 =>
    bytes32(keccak256(`0x1901${separator}${struct.slice(2)}`));
  return {
    channelId: ({ payer, payerAuthorizer, receiver, receiverAuthorizer, ...rest }) =>
      typed(
        hashWords(
          ...[CHANNEL, payer, payerAuthorizer, receiver, receiverAuthorizer],
          ...[rest.token, rest.withdrawDelay, rest.salt],
        ),
      ),
    voucher: (channelId, amount) => typed(hashWords(VOUCHER, channelId, amount)),
    refund: (channelId, nonce, amount) => typed(hashWords(REFUND, channelId, nonce, amount)),
    claims: (entries) => {
      const rows = entries.map(({ channelId, maxClaimableAmount, totalClaimed }) =>
        hashWords(CLAIM_ENTRY, channelId, maxClaimableAmount, totalClaimed),
      );
      return typed(hashWords(CLAIM_BATCH, hashWords(...rows)));
    },
  };
}

/** The EIP-3009 nonce of a deposit: it names the channel, so that no other can get the tokens. */
export function depositNonce(channelId: Bytes32, salt: bigint): Bytes32 {
  return bytes32(hashWords(channelId, salt));
}

/** A deposit as its payer signs it, in the token's own domain. */
interface ReceiveAuthorization {
  readonly from: Address;
  readonly to: Address;
  readonly value: bigint;
  readonly validAfter: bigint | number;
  readonly validBefore: bigint | number;
  readonly nonce: Bytes32;
}

/** The digests under deposits of one token (EIP-3009, `ReceiveWithAuthorization`). */
export function createDepositDigest(domain: {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Address;
}): (authorization: ReceiveAuthorization) => Hex {
  const separator = domainSeparator({ domain }).slice(2);
  return ({ from, to, value, validAfter, validBefore, nonce }) => {
    const struct = hashWords(RECEIVE, from, to, value, validAfter, validBefore, nonce);
    return keccak256(`0x1901${separator}${struct.slice(2)}`);
  };
}
