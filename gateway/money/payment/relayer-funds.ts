import { encodeFunctionData } from 'viem';
import { MULTICALL3_ADDRESS } from '../../../contracts-abi/addresses.js';
import { multicall3Abi } from '../../../contracts-abi/multicall3.js';
import { address, type Address } from '../../ground/domain/units.js';
import { GAS_PRICE_ORACLE, publishingFeeCall } from './publishing-fee.js';
import type { Call } from './transfer.js';

/** What the relayers have, and what a transfer costs them beyond its gas. */
export interface RelayerFunds {
  readonly balancesWei: ReadonlyMap<Address, bigint>;
  /** For publishing a transaction with one transfer on the layer below; 0 without such a layer. */
  readonly publishingWei: bigint;
}

/** Bytes of a transaction with one transfer in it, signature and all. */
export const TRANSACTION_BYTES = 450;

const PUBLISHING: Call = {
  target: GAS_PRICE_ORACLE,
  data: publishingFeeCall(TRANSACTION_BYTES),
};

/** Questions about the relayers' gas money, for a batch of calls to Multicall3. */
export function fundsCalls(relayers: readonly Address[]): readonly Call[] {
  if (relayers.length === 0) return [];
  const balances = relayers.map((relayer) => ({
    target: address(MULTICALL3_ADDRESS),
    data: encodeFunctionData({
      abi: multicall3Abi,
      functionName: 'getEthBalance',
      args: [relayer],
    }),
  }));
  return [PUBLISHING, ...balances];
}

/** The answers, in the same order; undefined where a balance is not told. */
export function readFunds(
  relayers: readonly Address[],
  [publishing, ...balances]: readonly (bigint | undefined)[],
): RelayerFunds | undefined {
  if (relayers.length === 0) return undefined;
  const balancesWei = new Map<Address, bigint>();
  for (const [at, relayer] of relayers.entries()) {
    const wei = balances[at];
    if (wei === undefined) return undefined;
    balancesWei.set(relayer, wei);
  }
  return { balancesWei, publishingWei: publishing ?? 0n };
}
