import { z } from 'zod';
import type { Address, Bytes32, Hex } from '../../ground/domain/units.js';
import { account, hash, hex, uint256 } from './wire-values.js';

/** The scheme's name on the wire. */
export const BATCH_SETTLEMENT = 'batch-settlement';

/** Who pays whom, in which token; its EIP-712 hash is the channel's id, so nothing of it can change. */
export interface ChannelConfig {
  readonly payer: Address;
  /** Signs vouchers by plain ECDSA. */
  readonly payerAuthorizer: Address;
  readonly receiver: Address;
  /** Signs claims and refunds. */
  readonly receiverAuthorizer: Address;
  readonly token: Address;
  /** Seconds from the start of a withdrawal until it can be finished. */
  readonly withdrawDelay: number;
  readonly salt: Bytes32;
}

/** What a payer has promised in all: no expiry, and no request in it. */
export interface Voucher {
  readonly channelId: Bytes32;
  /** Atomic units, below 2^128. */
  readonly maxClaimableAmount: bigint;
  readonly signature: Hex;
}

/** A deposit that a payer signed (EIP-3009 `ReceiveWithAuthorization`), not compared with anything. */
export interface ClaimedDeposit {
  readonly amount: bigint;
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  /** The authorization's nonce is the hash of channel id and salt. */
  readonly salt: bigint;
  readonly signature: Hex;
}

/** The payload of a `batch-settlement` payment. */
export type ChannelPayload = {
  readonly channelConfig: ChannelConfig;
  readonly voucher: Voucher;
} & (
  | { readonly type: 'voucher' }
  | { readonly type: 'deposit'; readonly deposit: ClaimedDeposit }
  /** Without an amount everything that is left is asked for. */
  | { readonly type: 'refund'; readonly amount?: bigint }
);

const UINT128_END = 1n << 128n;
const UINT40_END = 2 ** 40;

const amount = uint256.refine((value) => value < UINT128_END);

const channelConfig = z.strictObject({
  payer: account,
  payerAuthorizer: account,
  receiver: account,
  receiverAuthorizer: account,
  token: account,
  withdrawDelay: z.int().min(0).lt(UINT40_END),
  salt: hash,
});

const voucher = z.strictObject({ channelId: hash, maxClaimableAmount: amount, signature: hex });

const salt = hash.transform((word) => BigInt(word));

const deposit = z.strictObject({
  amount,
  authorization: z.strictObject({
    erc3009Authorization: z.strictObject({
      validAfter: uint256,
      validBefore: uint256,
      salt,
      signature: hex,
    }),
  }),
});

/** The three payloads of the scheme, closed; deposits by EIP-3009 only. */
export const channelPayloadSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('voucher'), channelConfig, voucher }),
  z
    .strictObject({ type: z.literal('deposit'), channelConfig, voucher, deposit })
    .transform(({ deposit: signed, ...rest }) => ({
      ...rest,
      deposit: { amount: signed.amount, ...signed.authorization.erc3009Authorization },
    })),
  z
    .strictObject({
      type: z.literal('refund'),
      channelConfig,
      voucher,
      amount: amount.optional(),
    })
    .transform(({ amount: asked, ...rest }) => ({
      ...rest,
      ...(asked !== undefined && { amount: asked }),
    })),
]);
