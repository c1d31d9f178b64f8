import type { Bytes32, Hex, UnixSeconds, UsdcUnits } from '../../ground/domain/units.js';

/** A channel as receipts and corrections tell it to its payer. */
export interface ChannelState {
  readonly channelId: Bytes32;
  readonly balance: UsdcUnits;
  readonly claimed: UsdcUnits;
  readonly refundNonce: bigint;
  readonly charged: UsdcUnits;
  /** When a withdrawal was begun; absent without one. */
  readonly withdrawRequestedAt?: UnixSeconds;
}

/** What brings a payer back that disagrees about its channel: the state, and its own signature. */
export interface ChannelCorrection {
  readonly state: ChannelState;
  /** The highest voucher that was ever taken; absent before the first. */
  readonly voucher?: { readonly signed: UsdcUnits; readonly signature: Hex };
}

/** `channelState` on the wire: amounts are decimal strings, the time is a number, 0 for none. */
export function channelStateWire(state: ChannelState) {
  return {
    channelId: state.channelId,
    balance: state.balance.toString(),
    totalClaimed: state.claimed.toString(),
    withdrawRequestedAt: state.withdrawRequestedAt ?? 0,
    refundNonce: state.refundNonce.toString(),
    chargedCumulativeAmount: state.charged.toString(),
  };
}

/** What a correction adds to `extra` of the channel's entry in `accepts`. */
export function correctionWire({ state, voucher }: ChannelCorrection): Record<string, unknown> {
  return {
    channelState: channelStateWire(state),
    ...(voucher && {
      voucherState: {
        signedMaxClaimable: voucher.signed.toString(),
        signature: voucher.signature,
      },
    }),
  };
}
