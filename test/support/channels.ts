/**
 * Channels of x402's `batch-settlement` scheme for tests: what payers and receivers sign, and the
 * calls that carry it.
 *   const config = channelOf(payer, { receiver, receiverAuthorizer: authorizer.address });
 *   await chain.send(settlement, depositCall(config, await signDeposit(payer, config, 1_000n)));
 *   const row = claimRow(config, 100n, await signVoucher(payer.account, config, 100n));
 *   await chain.send(settlement, claimCall([row], await signClaims(authorizer, [row])));
 */
import {
  encodeFunctionData,
  type ContractFunctionArgs,
  type EncodeFunctionDataParameters,
  type LocalAccount,
} from 'viem';
import { BASE_CHAIN_ID, USDC_ADDRESS, USDC_DOMAIN } from '../../contracts-abi/addresses.js';
import {
  BATCH_SETTLEMENT_ADDRESS,
  DEPOSIT_COLLECTOR_ADDRESS,
  batchSettlementAbi,
  batchSettlementDomain,
  batchSettlementTypes,
  channelIdOf,
  depositCollectorData,
  depositNonce,
  type ChannelConfig,
} from '../../contracts-abi/batch-settlement.js';
import { authorizationTypes } from '../../contracts-abi/usdc.js';
import { address, type Hex } from '../../gateway/ground/domain/units.js';
import { randomNonce, type Payer, type TestChain } from './chain.js';

/** Where the settlement contract sits. */
export const settlement = address(BATCH_SETTLEMENT_ADDRESS);

const domain = batchSettlementDomain(BASE_CHAIN_ID);

/** The channel id on the test chain. */
export const idOf = (config: ChannelConfig): Hex => channelIdOf(config, BASE_CHAIN_ID);

/** A channel of this payer, who signs its own vouchers; a day's delay and a random salt unless said otherwise. */
export function channelOf(
  payer: Pick<Payer, 'address'>,
  parties: Pick<ChannelConfig, 'receiver' | 'receiverAuthorizer'> & Partial<ChannelConfig>,
): ChannelConfig {
  return {
    payer: payer.address,
    payerAuthorizer: payer.address,
    token: USDC_ADDRESS,
    withdrawDelay: 86_400,
    salt: randomNonce(),
    ...parties,
  };
}

/** A deposit that its payer has signed. Times are Unix seconds, the amount is units of the token. */
export interface SignedDeposit {
  readonly amount: bigint;
  readonly validAfter: bigint;
  readonly validBefore: bigint;
  readonly salt: bigint;
  readonly signature: Hex;
}

/** Signs a deposit into this channel; valid for an hour from now, with a random salt, unless said otherwise. */
export async function signDeposit(
  payer: Pick<Payer, 'account'>,
  config: ChannelConfig,
  amount: bigint,
  wanted: Partial<Omit<SignedDeposit, 'amount' | 'signature'>> = {},
): Promise<SignedDeposit> {
  const deposit = {
    amount,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1000) + 3_600),
    salt: BigInt(randomNonce()),
    ...wanted,
  };
  const signature = await payer.account.signTypedData({
    domain: { ...USDC_DOMAIN, chainId: BASE_CHAIN_ID, verifyingContract: config.token },
    types: authorizationTypes,
    primaryType: 'ReceiveWithAuthorization',
    message: {
      from: config.payer,
      to: DEPOSIT_COLLECTOR_ADDRESS,
      value: amount,
      validAfter: deposit.validAfter,
      validBefore: deposit.validBefore,
      nonce: depositNonce(idOf(config), deposit.salt),
    },
  });
  return { ...deposit, signature };
}

/** Calldata of `deposit`. */
export function depositCall(config: ChannelConfig, deposit: SignedDeposit): Hex {
  return encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'deposit',
    args: [config, deposit.amount, DEPOSIT_COLLECTOR_ADDRESS, depositCollectorData(deposit)],
  });
}

/** The signature of whoever signs this channel's vouchers under a cumulative amount. */
export function signVoucher(
  signer: LocalAccount,
  config: ChannelConfig,
  maxClaimableAmount: bigint,
): Promise<Hex> {
  return signer.signTypedData({
    domain,
    types: batchSettlementTypes,
    primaryType: 'Voucher',
    message: { channelId: idOf(config), maxClaimableAmount },
  });
}

/** One row of a claim, as the contract takes it. */
export interface ClaimRow {
  readonly voucher: { readonly channel: ChannelConfig; readonly maxClaimableAmount: bigint };
  readonly signature: Hex;
  readonly totalClaimed: bigint;
}

/** A row that claims everything signed, or less where `totalClaimed` says so. */
export function claimRow(
  channel: ChannelConfig,
  maxClaimableAmount: bigint,
  signature: Hex,
  totalClaimed = maxClaimableAmount,
): ClaimRow {
  return { voucher: { channel, maxClaimableAmount }, signature, totalClaimed };
}

/** The authorizer's signature under these rows, in this order. */
export function signClaims(authorizer: LocalAccount, rows: readonly ClaimRow[]): Promise<Hex> {
  return authorizer.signTypedData({
    domain,
    types: batchSettlementTypes,
    primaryType: 'ClaimBatch',
    message: {
      claims: rows.map(({ voucher, totalClaimed }) => ({
        channelId: idOf(voucher.channel),
        maxClaimableAmount: voucher.maxClaimableAmount,
        totalClaimed,
      })),
    },
  });
}

/** Calldata of `claimWithSignature`. */
export function claimCall(rows: readonly ClaimRow[], signature: Hex): Hex {
  return encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'claimWithSignature',
    args: [rows, signature],
  });
}

/** The authorizer's signature under a refund. */
export function signRefund(
  authorizer: LocalAccount,
  config: ChannelConfig,
  refund: { readonly amount: bigint; readonly nonce: bigint },
): Promise<Hex> {
  return authorizer.signTypedData({
    domain,
    types: batchSettlementTypes,
    primaryType: 'Refund',
    message: { channelId: idOf(config), ...refund },
  });
}

/** Calldata of `refundWithSignature`. */
export function refundCall(
  config: ChannelConfig,
  refund: { readonly amount: bigint; readonly nonce: bigint; readonly signature: Hex },
): Hex {
  return encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'refundWithSignature',
    args: [config, refund.amount, refund.nonce, refund.signature],
  });
}

type Calls = 'initiateWithdraw' | 'finalizeWithdraw' | 'settle' | 'refund' | 'claim' | 'multicall';

/** Calldata of the functions that need no signature of anybody's. */
export function channelCall<Name extends Calls>(
  functionName: Name,
  args: ContractFunctionArgs<typeof batchSettlementAbi, 'nonpayable', Name>,
): Hex {
  const call = { abi: batchSettlementAbi, functionName, args };
  return encodeFunctionData(call as EncodeFunctionDataParameters<typeof batchSettlementAbi>);
}

/** What the settlement contract has for this channel now. */
export async function channelState(chain: Pick<TestChain, 'client'>, config: ChannelConfig) {
  const read = { address: settlement, abi: batchSettlementAbi, args: [idOf(config)] } as const;
  const [balance, totalClaimed] = await chain.client.readContract({
    ...read,
    functionName: 'channels',
  });
  const [pendingAmount, initiatedAt] = await chain.client.readContract({
    ...read,
    functionName: 'pendingWithdrawals',
  });
  const refundNonce = await chain.client.readContract({ ...read, functionName: 'refundNonce' });
  return { balance, totalClaimed, pendingAmount, initiatedAt, refundNonce };
}
