import { encodeFunctionData, parseAbi } from 'viem';
import { address, type Hex } from '../../ground/domain/units.js';

/** Base and its siblings tell there what publishing a transaction on Ethereum costs (Fjord). */
export const GAS_PRICE_ORACLE = address('0x420000000000000000000000000000000000000F');

const oracleAbi = parseAbi([
  'function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)',
]);

/** Asks the oracle what publishing a transaction of so many bytes costs at most, in wei. */
export function publishingFeeCall(transactionBytes: number): Hex {
  return encodeFunctionData({
    abi: oracleAbi,
    functionName: 'getL1FeeUpperBound',
    args: [BigInt(transactionBytes)],
  });
}
