import { encodeFunctionData } from 'viem';
import {
  BATCH_SETTLEMENT_ADDRESS,
  DEPOSIT_COLLECTOR_ADDRESS,
  batchSettlementAbi,
  depositCollectorData,
} from '../../../contracts-abi/batch-settlement.js';
import { address, type Address, type Hex } from '../../ground/domain/units.js';
import type { Deposit, SignedAuthorization } from './authorization.js';

/** The contract that holds all channels. */
export const SETTLEMENT_CONTRACT = address(BATCH_SETTLEMENT_ADDRESS);
/** What deposits by EIP-3009 are paid to, everybody's: it hands them on to that contract. */
export const DEPOSIT_COLLECTOR = address(DEPOSIT_COLLECTOR_ADDRESS);

/**
 * The call that puts a deposit into its channel. Anybody may make it; the collector, which is the
 * authorization's payee, takes the tokens only for the channel that the nonce names.
 */
export function depositCall(
  { to: collector, value, validAfter, validBefore, signature }: SignedAuthorization,
  { channel, salt }: Deposit,
): { readonly target: Address; readonly data: Hex } {
  const collectorData = depositCollectorData({
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    salt,
    signature,
  });
  const data = encodeFunctionData({
    abi: batchSettlementAbi,
    functionName: 'deposit',
    args: [channel, value, collector, collectorData],
  });
  return { target: SETTLEMENT_CONTRACT, data };
}
