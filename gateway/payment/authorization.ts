import type { Address, Bytes32, Hex, UnixSeconds, UsdcUnits } from '../domain/units.js';

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
