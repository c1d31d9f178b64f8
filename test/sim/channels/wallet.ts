import { secp256k1 } from '@bitauth/libauth';
import { hexToBytes, keccak256, stringToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { DEPOSIT_COLLECTOR_ADDRESS } from '../../../contracts-abi/batch-settlement.js';
import { address, bytes32, type Bytes32, type Hex } from '../../../gateway/ground/domain/units.js';
import {
  createChannelDigests,
  createDepositDigest,
  depositNonce,
} from '../../../gateway/money/channels/digests.js';
import { createLocalAuthorizer } from '../../../gateway/money/claims/authorizer.js';
import {
  BATCH_SETTLEMENT,
  type ChannelConfig,
} from '../../../gateway/money/x402/channel-payload.js';
import { requirements } from '../../../gateway/money/x402/terms.js';
import { PUBLIC_URL, TERMS } from '../payers.js';

/** Seconds of a channel's withdrawal delay: the least that the contract takes. */
export const WITHDRAW_DELAY_SECONDS = 900;
/** Atomic units of a search. */
export const PRICE = TERMS.amount;

/** Authorizes claims and refunds for the receiver. */
export const AUTHORIZER = createLocalAuthorizer(
  keccak256(stringToHex('simulated receiver authorizer')),
  TERMS.chainId,
);

export const digests = createChannelDigests(TERMS.chainId);
const depositDigest = createDepositDigest({
  ...TERMS.domain,
  ...{ chainId: TERMS.chainId, verifyingContract: TERMS.asset },
});

/** A signature by libsecp256k1, as any wallet makes it. */
function sign(privateKey: Uint8Array, digest: Hex): Hex {
  const signed = secp256k1.signMessageHashRecoverableCompact(privateKey, hexToBytes(digest));
  if (typeof signed === 'string') throw new Error(signed);
  const v = (27 + signed.recoveryId).toString(16);
  return `0x${Buffer.from(signed.signature).toString('hex')}${v}`;
}

/** Somebody with a key, and its channel with this service. */
export interface ChannelWallet {
  readonly name: string;
  readonly config: ChannelConfig;
  readonly channelId: Bytes32;
  /** The header with which a voucher is presented. */
  voucher(cumulative: bigint): string;
  /** A deposit with its voucher; `number` tells the payer's deposits apart. */
  deposit(cumulative: bigint, amount: bigint, number: number, validBefore: number): string;
  /** Asks for everything that is left, with a voucher for what is charged. */
  refund(charged: bigint): string;
  /** The payer's signature under a voucher. */
  signature(cumulative: bigint): Hex;
}

const accepted = {
  ...requirements(TERMS),
  scheme: BATCH_SETTLEMENT,
  extra: { receiverAuthorizer: AUTHORIZER.address, withdrawDelay: WITHDRAW_DELAY_SECONDS },
};

const headerOf = (payload: object): string =>
  Buffer.from(
    JSON.stringify({
      ...{ x402Version: 2, resource: { url: `${PUBLIC_URL}search` }, accepted, payload },
    }),
  ).toString('base64');

/** The same wallet for the same number. */
export function channelWallet(number: number): ChannelWallet {
  const privateKey = keccak256(stringToHex(`simulated channel payer ${number}`));
  const key = hexToBytes(privateKey);
  const payer = address(privateKeyToAccount(privateKey).address);
  const config: ChannelConfig = {
    ...{ payer, payerAuthorizer: payer, receiver: TERMS.payTo, token: TERMS.asset },
    receiverAuthorizer: AUTHORIZER.address,
    withdrawDelay: WITHDRAW_DELAY_SECONDS,
    salt: bytes32(`0x${'0'.repeat(64)}`),
  };
  const channelId = digests.channelId(config);
  const signature = (cumulative: bigint) => sign(key, digests.voucher(channelId, cumulative));
  const promise = (cumulative: bigint) => ({
    channelConfig: config,
    voucher: {
      channelId,
      maxClaimableAmount: cumulative.toString(),
      signature: signature(cumulative),
    },
  });
  return {
    name: `channel-${number}`,
    ...{ config, channelId, signature },
    voucher: (cumulative) => headerOf({ type: 'voucher', ...promise(cumulative) }),
    refund: (charged) => headerOf({ type: 'refund', ...promise(charged) }),
    deposit: (cumulative, amount, which, validBefore) => {
      const salt = BigInt(which + 1);
      const signed = depositDigest({
        ...{ from: payer, to: address(DEPOSIT_COLLECTOR_ADDRESS), value: amount },
        ...{ validAfter: 0n, validBefore, nonce: depositNonce(channelId, salt) },
      });
      const authorization = {
        ...{ validAfter: '0', validBefore: validBefore.toString() },
        salt: `0x${salt.toString(16).padStart(64, '0')}`,
        signature: sign(key, signed),
      };
      return headerOf({
        ...{ type: 'deposit', ...promise(cumulative) },
        deposit: {
          amount: amount.toString(),
          authorization: { erc3009Authorization: authorization },
        },
      });
    },
  };
}
