import type { Address, Hex } from '../../../gateway/domain/units.js';

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
}

export function copyState(state: ChainState): ChainState {
  return {
    ether: new Map(state.ether),
    nonces: new Map(state.nonces),
    balances: new Map(state.balances),
    authorizations: new Map(state.authorizations),
    blacklisted: new Set(state.blacklisted),
    isPaused: state.isPaused,
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
}

export type CallResult =
  | { readonly ok: true; readonly data: Hex; readonly logs: readonly Emitted[] }
  | { readonly ok: false; readonly data: Hex };
