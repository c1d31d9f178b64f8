import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import {
  parseAddress,
  unixSeconds,
  usdcUnits,
  type Address,
  type Bytes32,
  type Hex,
} from '../../ground/domain/units.js';
import type { SignedAuthorization } from '../payment/authorization.js';
import { DEPOSIT_COLLECTOR } from '../payment/deposit.js';
import { createRecover, isCanonical, isKeySignature } from '../payment/signature.js';
import {
  BATCH_SETTLEMENT,
  type ChannelConfig,
  type ChannelPayload,
  type ClaimedDeposit,
  type Voucher,
} from '../x402/channel-payload.js';
import { channelReasons } from '../x402/channel-reasons.js';
import type { AcceptedRequirements, PresentedPayment } from '../x402/payment.js';
import { reasons } from '../x402/reasons.js';
import type { ChannelTerms, PaymentTerms } from '../x402/terms.js';
import { createChannelDigests, createDepositDigest, depositNonce } from './digests.js';

/** Recovered signers that are remembered, at about 500 bytes each. */
const SIGNERS_MAX = 4096;
/** The books keep amounts in 64 bits: more USDC than exists. */
const UNITS_END = 2n ** 63n;
/** Times stay below 2^47, as for every payment. */
const SECONDS_END = 2n ** 47n;
const NOBODY = `0x${'0'.repeat(40)}`;

/** A payment through a channel that has passed every check that needs no I/O. */
export interface CheckedChannelPayment {
  readonly channelId: Bytes32;
  readonly config: ChannelConfig;
  /** What the voucher promises in all, and the payer's signature under it. */
  readonly cumulative: bigint;
  readonly signature: Hex;
  /** Why it cannot buy anything new: it was made for another price. It may still fetch a reply. */
  readonly objection?: Refusal;
}

/** The same with a deposit, whose money is not in the channel yet. */
export interface CheckedDeposit extends CheckedChannelPayment {
  readonly authorization: SignedAuthorization;
}

/** The same that asks for its money back; without an amount for all that is left. */
export interface CheckedRefund extends CheckedChannelPayment {
  readonly amount?: bigint;
}

export type ChannelCheck =
  | { readonly kind: 'voucher'; readonly payment: CheckedChannelPayment }
  | { readonly kind: 'deposit'; readonly payment: CheckedDeposit }
  | { readonly kind: 'refund'; readonly payment: CheckedRefund };

export interface ChannelSale {
  readonly terms: PaymentTerms;
  readonly channels: ChannelTerms;
  /** The lowest deposit that was asked for lately: gas may have risen since a client read it. */
  readonly minDeposit: bigint;
}

/**
 * Is this payment through a channel good, as far as nobody has to be asked? Shape, terms, channel id
 * and signatures, the cheapest first: about 0.2 ms, whatever is given.
 *
 * Refuses with `payment_invalid` and a reason of the scheme's closed list.
 */
export function createChannelCheck(
  chainId: number,
  domain: PaymentTerms['domain'],
  asset: Address,
) {
  const digests = createChannelDigests(chainId);
  const depositDigest = createDepositDigest({ ...domain, chainId, verifyingContract: asset });
  const recover = createRecover(SIGNERS_MAX);
  const isSignedBy = (signer: Address, digest: Hex, signature: Hex): boolean =>
    isKeySignature(signature) && isCanonical(signature) && recover(digest, signature) === signer;

  const checkVoucher = (
    { channelConfig, voucher }: { channelConfig: ChannelConfig; voucher: Voucher },
    sale: ChannelSale,
  ): Refusal | undefined => {
    const mismatch = matchConfig(channelConfig, sale);
    if (mismatch) return mismatch;
    if (voucher.maxClaimableAmount >= UNITS_END)
      return invalid(
        'No channel holds as much as this voucher promises.',
        channelReasons.exceedsBalance,
      );
    const channelId = digests.channelId(channelConfig);
    if (channelId !== voucher.channelId)
      return invalid(
        'The channel id is not the hash of its configuration.',
        channelReasons.channelId,
      );
    const digest = digests.voucher(channelId, voucher.maxClaimableAmount);
    return isSignedBy(channelConfig.payerAuthorizer, digest, voucher.signature)
      ? undefined
      : invalid(
          'The voucher is not signed by the channel’s payerAuthorizer.',
          channelReasons.voucherSignature,
        );
  };

  const checkDeposit = (
    config: ChannelConfig,
    channelId: Bytes32,
    deposit: ClaimedDeposit,
    sale: ChannelSale,
  ): SignedAuthorization | Refusal => {
    const { amount, validAfter, validBefore, salt, signature } = deposit;
    if (amount < sale.minDeposit)
      return invalid(
        `A deposit must be at least ${sale.minDeposit} atomic units.`,
        channelReasons.minDeposit,
      );
    if (amount >= UNITS_END)
      return invalid('The deposit is more than exists.', channelReasons.payerBalance);
    if (validAfter >= SECONDS_END || validBefore >= SECONDS_END)
      return invalid(
        'The times of the deposit lie beyond any that can be checked.',
        channelReasons.validBefore,
      );
    const authorization = {
      chainId,
      asset,
      from: config.payer,
      to: DEPOSIT_COLLECTOR,
      value: usdcUnits(amount),
      validAfter: unixSeconds(Number(validAfter)),
      validBefore: unixSeconds(Number(validBefore)),
      nonce: depositNonce(channelId, salt),
      signature,
      deposit: { channel: config, salt },
    };
    return isSignedBy(config.payer, depositDigest(authorization), signature)
      ? authorization
      : invalid(
          'The deposit is not signed by the payer’s key. Deposits of contract wallets are not taken.',
          channelReasons.depositSignature,
        );
  };

  return (presented: PresentedPayment, sale: ChannelSale): ChannelCheck | Refusal => {
    const payload = matchScheme(presented, sale);
    if ('code' in payload) return payload;
    const refusal = checkVoucher(payload, sale);
    if (refusal) return refusal;
    const objection = presented.accepted && matchPrice(presented.accepted, sale);
    const { channelConfig: config, voucher } = payload;
    const payment = {
      channelId: voucher.channelId,
      config,
      cumulative: voucher.maxClaimableAmount,
      signature: voucher.signature,
      ...(objection && { objection }),
    };
    switch (payload.type) {
      case 'voucher':
        return { kind: 'voucher', payment };
      case 'refund': {
        const { amount } = payload;
        return { kind: 'refund', payment: { ...payment, ...(amount !== undefined && { amount }) } };
      }
      case 'deposit': {
        const authorization = checkDeposit(config, voucher.channelId, payload.deposit, sale);
        if ('code' in authorization) return authorization;
        return { kind: 'deposit', payment: { ...payment, authorization } };
      }
    }
  };
}

function matchScheme(
  { scheme, network, accepted, channel }: PresentedPayment,
  { terms }: ChannelSale,
): ChannelPayload | Refusal {
  if (scheme !== BATCH_SETTLEMENT)
    return invalid(`The scheme must be "${BATCH_SETTLEMENT}".`, channelReasons.scheme);
  if (network !== `eip155:${terms.chainId}`)
    return invalid(
      `Payments are taken on the network eip155:${terms.chainId} only.`,
      channelReasons.network,
    );
  if (accepted && parseAddress(accepted.asset) !== terms.asset)
    return invalid(`Payments are taken in ${terms.asset} only.`, reasons.requirements);
  if (accepted && parseAddress(accepted.payTo) !== terms.payTo)
    return invalid('The accepted payTo is not this service’s.', reasons.requirements);
  return (
    channel ??
    invalid(
      'The payload must be a voucher, a deposit by EIP-3009, or a refund.',
      channelReasons.payloadType,
    )
  );
}

function matchPrice(accepted: AcceptedRequirements, sale: ChannelSale): Refusal | undefined {
  const { amount } = sale.channels;
  if (accepted.amount === amount.toString()) return undefined;
  return invalid(
    `The price through a channel is ${amount} atomic units now.`,
    reasons.requirements,
  );
}

function matchConfig(config: ChannelConfig, { terms, channels }: ChannelSale): Refusal | undefined {
  if (config.receiver !== terms.payTo)
    return invalid('The channel pays another receiver.', channelReasons.receiver);
  if (config.receiverAuthorizer !== channels.receiverAuthorizer)
    return invalid(
      `The channel’s receiverAuthorizer must be ${channels.receiverAuthorizer}.`,
      channelReasons.receiverAuthorizer,
    );
  if (config.token !== terms.asset)
    return invalid(`The channel must be in ${terms.asset}.`, channelReasons.token);
  if (config.withdrawDelay !== channels.withdrawDelaySeconds)
    return invalid(
      `The channel’s withdrawDelay must be ${channels.withdrawDelaySeconds} seconds.`,
      channelReasons.withdrawDelay,
    );
  if (config.payerAuthorizer === NOBODY)
    return invalid(
      'The channel must name a payerAuthorizer: vouchers of contracts are not taken.',
      channelReasons.voucherSignature,
    );
  return undefined;
}

function invalid(detail: string, reason: string): Refusal {
  return refuse('payment_invalid', detail, { reason });
}
