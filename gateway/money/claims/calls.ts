import { encodeFunctionData, hexToBytes, type Hex } from 'viem';
import { batchSettlementAbi } from '../../../contracts-abi/batch-settlement.js';
import type { Address } from '../../ground/domain/units.js';
import type { Channel } from '../channels/channel.js';
import type { Call } from '../settlement/calls.js';
import { BATCH_SETTLEMENT } from './contract.js';

/** One row of a claim: what a channel was charged in all, with the voucher that covers it. */
export interface ClaimRow {
  readonly channel: Pick<Channel, 'id' | 'config' | 'signed' | 'onChain'>;
  /** The payer's signature under `channel.signed`. */
  readonly signature: Hex;
  /** What will be claimed of it in all. */
  readonly totalClaimed: bigint;
}

/** Rows of one transaction: at 24,000 gas each well within any block. */
export const CLAIM_ROWS_MAX = 100;

/** A transaction's own gas with the contract's first steps, and one row: measured, with room. */
const CLAIM_BASE_GAS = 60_000n;
const CLAIM_ROW_GAS_MAX = 60_000n;
/** What one row of many costs, with its calldata; one alone costs 60,300. */
export const CLAIM_ROW_GAS = 24_300n;
/** Bytes of one row's calldata, for the fee of publishing it on the layer below. */
export const CLAIM_ROW_BYTES = 485;
/** Pays out everything that was claimed for a receiver. */
export const SWEEP_GAS = 80_000n;
const REFUND_GAS = 140_000n;

/** The channel's configuration as the contract takes it. */
const configOf = ({ config }: Pick<Channel, 'config'>) => config;

const rowsOf = (rows: readonly ClaimRow[]) =>
  rows.map(({ channel, signature, totalClaimed }) => ({
    voucher: { channel: configOf(channel), maxClaimableAmount: channel.signed },
    signature,
    totalClaimed,
  }));

/**
 * Claims these rows. All have one receiver's authorizer, which signs them or sends the transaction
 * itself (`authorization` absent): then its signature is spared.
 */
export function claimData(rows: readonly ClaimRow[], authorization: Hex | undefined): Hex {
  return authorization === undefined
    ? encodeFunctionData({ abi: batchSettlementAbi, functionName: 'claim', args: [rowsOf(rows)] })
    : encodeFunctionData({
        abi: batchSettlementAbi,
        functionName: 'claimWithSignature',
        args: [rowsOf(rows), authorization],
      });
}

/** Pays a receiver everything that was claimed for it and not paid out yet. */
export function sweepData(receiver: Address, token: Address): Hex {
  return encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'settle',
    args: [receiver, token],
  });
}

/** Gives the payer `amount` of what is free in the channel; `nonce` is the channel's refund nonce. */
export function refundData(
  { config }: Pick<Channel, 'config'>,
  refund: { readonly amount: bigint; readonly nonce: bigint; readonly authorization: Hex },
): Hex {
  return encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'refundWithSignature',
    args: [config, refund.amount, refund.nonce, refund.authorization],
  });
}

/** Some calls of the settlement contract in one transaction, all or nothing. */
export function contractCall(data: readonly Hex[], gasLimit: bigint): Call {
  const [only] = data;
  const input =
    only !== undefined && data.length === 1
      ? only
      : encodeFunctionData({ abi: batchSettlementAbi, functionName: 'multicall', args: [data] });
  return { to: BATCH_SETTLEMENT, data: hexToBytes(input), gasLimit };
}

export const claimGas = (rows: number): bigint => CLAIM_BASE_GAS + BigInt(rows) * CLAIM_ROW_GAS_MAX;

export const refundGas = (claims: number): bigint => REFUND_GAS + claimGas(claims);
