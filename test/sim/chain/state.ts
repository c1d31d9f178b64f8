import type { Address, Bytes32, Hex } from '../../../gateway/ground/domain/units.js';

/** What the chain knows at the end of one block. */
export interface ChainState {
  /** Wei. */
  readonly ether: Map<Address, bigint>;
  readonly nonces: Map<Address, bigint>;
  /** Atomic units of the token. */
  readonly balances: Map<Address, bigint>;
  /** By `authorizationText`: used by a transfer, or cancelled. */
  readonly authorizations: Map<string, 'used' | 'cancelled'>;
  readonly blacklisted: Set<Address>;
  isPaused: boolean;
  /** Whether somebody has deployed the batch contract that caps the gas of each call. */
  readonly hasCappedBatch: boolean;
  /** Keys that have been seen to delegate to code (EIP-7702), which nobody could look up before. */
  readonly delegated: Set<Address>;
  /** Payment channels, and what was claimed for their receivers. */
  readonly channels: Map<Bytes32, SimChannel>;
  readonly receivers: Map<Address, { readonly claimed: bigint; readonly settled: bigint }>;
}

/** A payment channel as its contract has it; amounts are atomic units. */
export interface SimChannel {
  readonly balance: bigint;
  readonly claimed: bigint;
  readonly refundNonce: bigint;
  readonly withdrawal?: { readonly amount: bigint; readonly initiatedAt: number };
}

export function copyState(state: ChainState): ChainState {
  return {
    ether: new Map(state.ether),
    nonces: new Map(state.nonces),
    balances: new Map(state.balances),
    authorizations: new Map(state.authorizations),
    blacklisted: new Set(state.blacklisted),
    isPaused: state.isPaused,
    hasCappedBatch: state.hasCappedBatch,
    delegated: new Set(state.delegated),
    channels: new Map(state.channels),
    receivers: new Map(state.receivers),
  };
}

/** What names an authorization within the token. */
export const authorizationText = (payer: Address, nonce: Hex): string => `${payer} ${nonce}`;

/** An event as a call emits it; its block and transaction are added when it is mined. */
export interface Emitted {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

/** Where a call runs. */
export interface Environment {
  readonly chainId: number;
  readonly number: number;
  /** Seconds since the Unix epoch. */
  readonly timestamp: number;
  readonly baseFee: bigint;
  /** Present in a transaction, where gas can be burned; a simulation has none. */
  readonly meter?: GasMeter;
}

/** What code did with the gas that it was given. */
export interface GasMeter {
  /** Whether all gas of the call is gone: whoever made it has 1/64 of its own left (EIP-150). */
  isExhausted: boolean;
  /** Calls with a gas cap that used all of it. */
  cappedBurns: number;
  /** Whose code did it. */
  readonly burners: Set<Address>;
}

export type CallResult =
  | { readonly ok: true; readonly data: Hex; readonly logs: readonly Emitted[] }
  | { readonly ok: false; readonly data: Hex };
