import type { SettleResponse } from '@x402/core/types';
import type { Address, TransactionHash, UsdcUnits } from '../../ground/domain/units.js';
import { encodeJson } from './base64.js';
import { channelStateWire, type ChannelState } from './channel-state.js';
import { NETWORK_V1, network } from './terms.js';

/** What came of a payment, as `PAYMENT-RESPONSE` tells it. */
export type Receipt = {
  readonly chainId: number;
  readonly payer: Address;
} & (
  | { readonly transaction: TransactionHash; readonly amount: UsdcUnits }
  | ChannelReceipt
  /** Nothing was charged, on purpose: the authorization was not used. */
  | { readonly unsettled: 'no_results' }
  | {
      /** The x402 reason. */
      readonly errorReason: string;
      /** The transaction that failed, when there was one. */
      readonly transaction?: TransactionHash;
    }
);

/** The receipt of a payment that was made. */
export type PaidReceipt = Exclude<Receipt, { errorReason: string } | { unsettled: string }>;

/** What a payment did in its payer's channel. */
export interface ChannelReceipt {
  readonly channel: ChannelState;
  /** What the search cost; absent after a refund. */
  readonly chargedAmount?: UsdcUnits;
  /** What was deposited or refunded, and where; absent after a voucher alone. */
  readonly moved?: { readonly transaction: TransactionHash; readonly amount: UsdcUnits };
}

/** More that goes with a receipt, by the name of its extension. */
export type ReceiptExtensions = Readonly<Record<string, object>>;

/** The receipt as an object: for the header, and for transports that carry JSON (MCP). */
export function settleResponse(receipt: Receipt, extensions?: ReceiptExtensions): SettleResponse {
  const response = bareResponse(receipt);
  return extensions ? { ...response, extensions } : response;
}

function bareResponse(receipt: Receipt): SettleResponse {
  const common = { network: network(receipt.chainId), payer: receipt.payer };
  if ('unsettled' in receipt) return { success: true, transaction: '', amount: '0', ...common };
  if ('channel' in receipt) return { ...common, ...channelResponse(receipt) };
  return 'errorReason' in receipt
    ? {
        success: false,
        errorReason: receipt.errorReason,
        transaction: receipt.transaction ?? '',
        ...common,
      }
    : {
        success: true,
        transaction: receipt.transaction,
        ...common,
        amount: receipt.amount.toString(),
      };
}

/** As the scheme `batch-settlement` writes it: a voucher alone has no transaction and no amount. */
function channelResponse({ channel, chargedAmount, moved }: ChannelReceipt) {
  return {
    success: true,
    transaction: moved?.transaction ?? '',
    amount: moved?.amount.toString() ?? '',
    extra: {
      ...(chargedAmount !== undefined && { chargedAmount: chargedAmount.toString() }),
      channelState: channelStateWire(channel),
    },
  };
}

/** The value of `PAYMENT-RESPONSE`. */
export function encodePaymentResponse(receipt: Receipt, extensions?: ReceiptExtensions): string {
  return encodeJson(settleResponse(receipt, extensions));
}

/** The value of version 1's `X-PAYMENT-RESPONSE`, which names the network by word. */
export function encodePaymentResponseV1(receipt: Receipt, extensions?: ReceiptExtensions): string {
  return encodeJson({ ...settleResponse(receipt, extensions), network: NETWORK_V1 });
}
