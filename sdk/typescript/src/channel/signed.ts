import { concat, toHex, word } from '../eth/bytes.js';
import { keccak256 } from '../eth/keccak.js';
import { recoverAddress } from '../eth/recover.js';
import { digestOf } from '../eth/typed-data.js';
import type { Hex } from '../hex.js';
import { AUTHORIZATION_FIELDS } from '../payment/authorization.js';
import { encodeJson } from '../payment/base64.js';
import type { DepositTypedData, VoucherTypedData } from '../payment/wallet.js';
import {
  DEPOSIT_COLLECTOR,
  settlementDomain,
  type ChannelConfig,
  type ChannelTerms,
} from './terms.js';

const VOUCHER_FIELDS = [
  { name: 'channelId', type: 'bytes32' },
  { name: 'maxClaimableAmount', type: 'uint128' },
];

/** What a payer signs for one search: the most that the payee may claim in all. */
export function voucherData(
  channelId: Hex,
  chainId: number,
  maxClaimableAmount: bigint,
): VoucherTypedData {
  return {
    domain: settlementDomain(chainId),
    types: { Voucher: VOUCHER_FIELDS },
    primaryType: 'Voucher',
    message: { channelId, maxClaimableAmount },
  };
}

/** A deposit before it is signed; the salt makes it the only one of its kind. */
export interface Deposit {
  readonly amountUnits: bigint;
  /** Unix seconds. */
  readonly validBefore: number;
  readonly salt: Hex;
}

/** The EIP-3009 nonce of a deposit: it names the channel, so that no other can get the money. */
export const depositNonce = (channelId: Hex, salt: Hex): Hex =>
  toHex(keccak256(concat(word(channelId), word(salt))));

/** What a payer signs for a deposit (EIP-3009), in the token's own domain. */
export function depositData(
  terms: Pick<ChannelTerms, 'name' | 'version' | 'chainId' | 'asset'>,
  channelId: Hex,
  payer: Hex,
  deposit: Deposit,
): DepositTypedData {
  return {
    domain: {
      name: terms.name,
      version: terms.version,
      chainId: terms.chainId,
      verifyingContract: terms.asset,
    },
    types: { ReceiveWithAuthorization: AUTHORIZATION_FIELDS },
    primaryType: 'ReceiveWithAuthorization',
    message: {
      from: payer,
      to: DEPOSIT_COLLECTOR,
      value: deposit.amountUnits,
      validAfter: 0n,
      validBefore: BigInt(deposit.validBefore),
      nonce: depositNonce(channelId, deposit.salt),
    },
  };
}

/** Whether this payer has signed this voucher. */
export function isOwnVoucher(payer: Hex, data: VoucherTypedData, signature: Hex): boolean {
  return recoverAddress(digestOf(data), signature) === payer;
}

/** A voucher with its signature, as it goes over the wire. */
export interface SignedVoucher {
  readonly channelId: Hex;
  readonly maxClaimableAmount: bigint;
  readonly signature: Hex;
}

/** The PAYMENT-SIGNATURE header of a voucher, with the deposit that opens or tops up the channel. */
export function voucherHeader(
  { accepted, resource }: Pick<ChannelTerms, 'accepted' | 'resource'>,
  channelConfig: ChannelConfig,
  voucher: SignedVoucher,
  deposit?: Deposit & { readonly signature: Hex },
): string {
  const erc3009Authorization = deposit && {
    validAfter: '0',
    validBefore: String(deposit.validBefore),
    salt: deposit.salt,
    signature: deposit.signature,
  };
  return headerOf(
    { accepted, resource },
    {
      type: deposit ? 'deposit' : 'voucher',
      channelConfig,
      voucher: wire(voucher),
      ...(deposit && {
        deposit: {
          amount: deposit.amountUnits.toString(),
          authorization: { erc3009Authorization },
        },
      }),
    },
  );
}

/** The PAYMENT-SIGNATURE header that asks for `amountUnits` back, or for all that is left. */
export function refundHeader(
  terms: Pick<ChannelTerms, 'accepted' | 'resource'>,
  channelConfig: ChannelConfig,
  voucher: SignedVoucher,
  amountUnits?: bigint,
): string {
  return headerOf(terms, {
    type: 'refund',
    channelConfig,
    voucher: wire(voucher),
    ...(amountUnits !== undefined && { amount: amountUnits.toString() }),
  });
}

const wire = ({ channelId, maxClaimableAmount, signature }: SignedVoucher) => ({
  channelId,
  maxClaimableAmount: maxClaimableAmount.toString(),
  signature,
});

function headerOf(
  { accepted, resource }: Pick<ChannelTerms, 'accepted' | 'resource'>,
  payload: object,
): string {
  return encodeJson({
    x402Version: 2,
    ...(resource === undefined ? {} : { resource }),
    accepted,
    payload,
  });
}
