import type { Runtime } from '../runtime.js';
import { encodeJson } from './base64.js';
import type { Requirement } from './challenge.js';
import type { Hex } from '../hex.js';
import type { TypedData } from './wallet.js';

/** The members of an EIP-3009 authorization. */
export const AUTHORIZATION_FIELDS: TypedData['types']['TransferWithAuthorization'] = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];

/** 32 random bytes: an EIP-3009 nonce. */
export function randomNonce(runtime: Runtime): Hex {
  const hex = [...runtime.bytes(32)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `0x${hex.join('')}`;
}

/** What the payer signs (EIP-3009, EIP-712). */
export function transferAuthorization(
  requirement: Requirement,
  payer: Hex,
  nonce: Hex,
  validBefore: number,
): TypedData {
  return {
    domain: {
      name: requirement.name,
      version: requirement.version,
      chainId: requirement.chainId,
      verifyingContract: requirement.asset,
    },
    types: { TransferWithAuthorization: AUTHORIZATION_FIELDS },
    primaryType: 'TransferWithAuthorization',
    message: {
      from: payer,
      to: requirement.payTo,
      value: requirement.amountUnits,
      validAfter: 0n,
      validBefore: BigInt(validBefore),
      nonce,
    },
  };
}

/** The PAYMENT-SIGNATURE header (x402 version 2, HTTP transport). */
export function paymentHeader(requirement: Requirement, data: TypedData, signature: Hex): string {
  const { from, to, value, validAfter, validBefore, nonce } = data.message;
  return encodeJson({
    x402Version: 2,
    ...(requirement.resource === undefined ? {} : { resource: requirement.resource }),
    accepted: requirement.accepted,
    payload: {
      signature,
      authorization: {
        from,
        to,
        value: value.toString(),
        validAfter: validAfter.toString(),
        validBefore: validBefore.toString(),
        nonce,
      },
    },
  });
}
