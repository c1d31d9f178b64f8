import type { Hex } from '../hex.js';
import { decodeJson, isObject } from '../payment/base64.js';
import type { Answer } from '../transport.js';

/** What a gateway says of a channel: not proved by anything but the payer's own signature. */
export interface SaidState {
  readonly channelId: string;
  readonly charged: bigint;
  readonly claimed: bigint;
  readonly balance: bigint;
  readonly withdrawRequestedAt: number;
}

/** PAYMENT-RESPONSE after a voucher, a deposit or a refund. */
export interface ChannelReceipt {
  readonly success: boolean;
  /** What this search cost; undefined where the receipt does not say. */
  readonly chargedUnits: bigint | undefined;
  /** What was deposited or given back; undefined after a voucher. */
  readonly movedUnits: bigint | undefined;
  readonly transaction: string | undefined;
  readonly state: SaidState | undefined;
}

/** What a corrective 402 says. */
export interface Correction {
  readonly state: SaidState;
  /** The payer's own highest voucher, as the gateway has it. */
  readonly voucher: { readonly signed: bigint; readonly signature: Hex } | undefined;
}

const amount = (value: unknown): bigint | undefined =>
  typeof value === 'string' && /^[0-9]{1,39}$/.test(value) ? BigInt(value) : undefined;

function readState(value: unknown): SaidState | undefined {
  if (!isObject(value) || typeof value.channelId !== 'string') return undefined;
  const charged = amount(value.chargedCumulativeAmount);
  const claimed = amount(value.totalClaimed);
  const balance = amount(value.balance);
  if (charged === undefined || claimed === undefined || balance === undefined) return undefined;
  const { withdrawRequestedAt } = value;
  return {
    ...{ channelId: value.channelId, charged, claimed, balance },
    withdrawRequestedAt: typeof withdrawRequestedAt === 'number' ? withdrawRequestedAt : 0,
  };
}

/** Reads the receipt of a channel's payment; undefined when there is none that can be read. */
export function readChannelReceipt({
  headers,
}: Pick<Answer, 'headers'>): ChannelReceipt | undefined {
  const header = headers.get('payment-response');
  const value = header === null ? undefined : decodeJson(header);
  if (!isObject(value) || typeof value.success !== 'boolean') return undefined;
  const extra = isObject(value.extra) ? value.extra : {};
  const { transaction } = value;
  return {
    success: value.success,
    chargedUnits: amount(extra.chargedAmount),
    movedUnits: amount(value.amount),
    transaction: typeof transaction === 'string' && transaction !== '' ? transaction : undefined,
    state: readState(extra.channelState),
  };
}

/** The correction in a channel's entry of `accepts`; undefined when there is none. */
export function readCorrection(accepted: object): Correction | undefined {
  const { extra } = accepted as { readonly extra?: unknown };
  if (!isObject(extra)) return undefined;
  const state = readState(extra.channelState);
  if (!state) return undefined;
  const { voucherState } = extra;
  if (!isObject(voucherState)) return { state, voucher: undefined };
  const signed = amount(voucherState.signedMaxClaimable);
  const { signature } = voucherState;
  if (signed === undefined || typeof signature !== 'string') return undefined;
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return undefined;
  return { state, voucher: { signed, signature: signature as Hex } };
}
