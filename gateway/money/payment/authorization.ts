import type { Refusal } from '../../ground/domain/refusal.js';
import type { Address, Bytes32, Hex, UnixSeconds, UsdcUnits } from '../../ground/domain/units.js';
import type { ChannelConfig } from '../x402/channel-payload.js';

/** An EIP-3009 transfer authorization, with the token that it is for. */
export interface Authorization {
  readonly chainId: number;
  readonly asset: Address;
  readonly from: Address;
  readonly to: Address;
  readonly value: UsdcUnits;
  /** The transfer is valid strictly after this time. */
  readonly validAfter: UnixSeconds;
  /** The transfer is valid strictly before this time. */
  readonly validBefore: UnixSeconds;
  /** Chosen by the payer; unique per payer and token. */
  readonly nonce: Bytes32;
}

export interface SignedAuthorization extends Authorization {
  /** 65 bytes r‖s‖v for a key; any length for a contract (ERC-1271, ERC-6492). */
  readonly signature: Hex;
  /**
   * Present where the money goes into a channel: `to` is then the collector, and what is signed is
   * EIP-3009's `ReceiveWithAuthorization`.
   */
  readonly deposit?: Deposit;
}

/** What a deposit needs beside its authorization. */
export interface Deposit {
  readonly channel: ChannelConfig;
  /** The authorization's nonce is the hash of channel id and salt. */
  readonly salt: bigint;
}

/** An authorization for this server, and what is still to be said about it. */
export interface CheckedAuthorization extends SignedAuthorization {
  /**
   * `key`: the payer's own key signed it. `contract`: it may be a contract's signature, which only
   * the chain can judge; until then nothing says that the payer has sent it.
   */
  readonly signedBy: 'key' | 'contract';
  /**
   * Why it cannot be taken now, if it is new: its price or quote is not in force. It says nothing
   * against a payment that was taken before and comes again to fetch its reply.
   */
  readonly objection?: Refusal;
}

/** What identifies a payment on chain and in the books; the signature is no part of it. */
export interface AuthorizationKey {
  readonly chainId: number;
  readonly asset: Address;
  readonly from: Address;
  readonly nonce: Bytes32;
}

/** The key as one string, for maps and logs. */
export function keyText(key: AuthorizationKey): string {
  return `${key.chainId}:${key.asset}:${key.from}:${key.nonce}`;
}
