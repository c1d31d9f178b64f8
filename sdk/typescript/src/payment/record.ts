import type { Hex } from '../hex.js';

/** What a gateway asks for one search. */
export interface Quote {
  /** Atomic USDC. */
  readonly amountUnits: bigint;
  /** The same in dollars. */
  readonly amountUsd: string;
  /** CAIP-2, such as `eip155:8453`. */
  readonly network: string;
  readonly asset: Hex;
  readonly payTo: Hex;
  /** How long a payment may stay valid, in seconds. */
  readonly maxTimeoutSeconds: number;
  /** Atomic USDC that go into a channel with this payment, to be spent later or given back. */
  readonly depositUnits?: bigint;
}

/**
 * Where a payment stands, as far as this side knows.
 * - `signing`: the amount is set aside; no signature has left this process.
 * - `open`: signed and perhaps sent; the outcome is not known.
 * - `paid`: its search was answered.
 * - `refused`: the gateway said that it will not be used. It still counts towards the caps,
 *   because that is only the gateway's word: a signed authorization can be executed by anyone.
 * - `released`: no signature was made, or the chain says that it can never be executed.
 */
export type PaymentStatus = 'signing' | 'open' | 'paid' | 'refused' | 'released';

/** One payment in the log. Anyone who holds `header` can have it settled: keep it private. */
export interface PaymentRecord {
  /** The authorization's nonce, 32 bytes of hex. */
  readonly id: Hex;
  readonly status: PaymentStatus;
  /** What it pays for. */
  readonly url: string;
  /** The exact request body; removed once the payment is closed. */
  readonly body?: string;
  readonly network: string;
  readonly asset: Hex;
  readonly payer: Hex;
  readonly payTo: Hex;
  /** Atomic USDC. */
  readonly amountUnits: bigint;
  /** Milliseconds since the Unix epoch. */
  readonly createdAtMs: number;
  /** Unix time in seconds after which nobody can execute it; 0 for a voucher, which never ends. */
  readonly validBefore: number;
  /** The PAYMENT-SIGNATURE header; only while `open`. */
  readonly header?: string;
  /** The settling transaction, from the receipt. */
  readonly transaction?: string;
  /** Why it was refused, in the protocol's words. */
  readonly reason?: string;
  /** The channel that this deposit goes to, or that this voucher is of. */
  readonly channelId?: Hex;
  /** A channel's own record: its state, as JSON. Its amount is 0, because its deposits count. */
  readonly channel?: string;
}

/** No quote is signed for a longer window: a signed authorization should not lie around. */
export const WINDOW_SECONDS_MAX = 3600;

/**
 * Whether a record stands in the way of a cap: all but those that nobody can execute. A `signing`
 * record that a killed process left behind stops counting after the longest window.
 */
export function counts(record: PaymentRecord, nowMs: number): boolean {
  if (record.status === 'released') return false;
  return record.status !== 'signing' || record.createdAtMs + WINDOW_SECONDS_MAX * 1000 > nowMs;
}
