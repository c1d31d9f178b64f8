import type { SettlementChain } from '../settlement/chain.js';
import { CLAIM_ROW_BYTES, CLAIM_ROW_GAS } from './calls.js';

/** What the contract's calls cost now, in atomic units of USDC, rounded up. */
export interface ClaimCosts {
  /** A deposit that shares no transaction. */
  deposit(): Promise<bigint>;
  /** One more row of a claim, with its share of publishing on the layer below. */
  claimRow(): Promise<bigint>;
  /** Paying out what was claimed. */
  sweep(): Promise<bigint>;
  /** A refund together with the claim of everything charged. */
  refund(): Promise<bigint>;
}

/** What a channel's first deposit costs, and its calldata: measured. */
const DEPOSIT_GAS_USED = 131_100n;
const DEPOSIT_BYTES = 612;
/** What `settle` costs inside a claim's transaction: measured. */
const SWEEP_GAS_USED = 45_800n;
/** What claim and refund cost in one transaction, and their calldata: measured. */
const REFUND_GAS_USED = 128_600n;
const REFUND_BYTES = 1_412;
/** `settle`'s calldata. */
const SWEEP_BYTES = 68;

/** Wei to atomic units: 10^18 wei an ETH, 10^6 units a dollar, and 10^6 for ETH's price. */
const WEI_PER_UNIT = 10n ** 18n;

export function createClaimCosts(parts: {
  readonly chain: Pick<SettlementChain, 'block' | 'publishingFee'>;
  /** Wei per gas for the block builder. */
  readonly priorityFeePerGas: bigint;
  /** Dollars for one ETH now, in millionths. */
  readonly ethUsdE6: () => bigint;
}): ClaimCosts {
  const { chain, priorityFeePerGas, ethUsdE6 } = parts;
  const cost = async (gas: bigint, bytes: number): Promise<bigint> => {
    const { baseFee } = await chain.block('latest');
    const wei = gas * (baseFee + priorityFeePerGas) + (await chain.publishingFee(bytes));
    return (wei * ethUsdE6() + WEI_PER_UNIT - 1n) / WEI_PER_UNIT;
  };
  return {
    deposit: () => cost(DEPOSIT_GAS_USED, DEPOSIT_BYTES),
    claimRow: () => cost(CLAIM_ROW_GAS, CLAIM_ROW_BYTES),
    sweep: () => cost(SWEEP_GAS_USED, SWEEP_BYTES),
    refund: () => cost(REFUND_GAS_USED, REFUND_BYTES),
  };
}
