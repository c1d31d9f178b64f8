import { decodeFunctionData } from 'viem';
import { batchSettlementAbi, type ChannelConfig } from '../../../contracts-abi/batch-settlement.js';
import type { Address, Hex } from '../../ground/domain/units.js';

/** What a call of the settlement contract does with money. Amounts in atomic units. */
export type ContractAction =
  /** Books as earned what a channel was charged, `totalClaimed` in all; no token moves. */
  | {
      readonly kind: 'claim';
      readonly config: ChannelConfig;
      readonly totalClaimed: bigint;
    }
  /** Pays a receiver everything that was claimed for it and not paid out yet. */
  | { readonly kind: 'sweep'; readonly receiver: Address; readonly token: Address }
  /** Gives a payer back what is free in a channel. */
  | { readonly kind: 'refund'; readonly config: ChannelConfig; readonly amount: bigint };

/** The actions of a call that `contractCall` made, in their order. */
export function readContractCall(data: Hex): readonly ContractAction[] {
  const { functionName, args } = decodeFunctionData({ abi: batchSettlementAbi, data });
  switch (functionName) {
    case 'multicall':
      return args[0].flatMap(readContractCall);
    case 'claim':
    case 'claimWithSignature':
      return args[0].map(({ voucher, totalClaimed }) => ({
        kind: 'claim',
        config: voucher.channel,
        totalClaimed,
      }));
    case 'settle':
      return [{ kind: 'sweep', receiver: lower(args[0]), token: lower(args[1]) }];
    case 'refundWithSignature':
      return [{ kind: 'refund', config: args[0], amount: args[1] }];
    default:
      return [];
  }
}

const lower = (text: string) => text.toLowerCase() as Address;
