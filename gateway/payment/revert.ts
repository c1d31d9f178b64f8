import { decodeErrorResult, parseAbi } from 'viem';
import type { Hex } from '../domain/units.js';
import { reasons } from '../x402/reasons.js';

/** The custom errors of OpenZeppelin's ERC-20 and ERC-3009; USDC reverts with texts. */
const errorsAbi = parseAbi([
  'error Error(string text)',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC3009InvalidSignature()',
  'error ERC3009InvalidAuthorizationTime(uint256 validAfter, uint256 validBefore)',
  'error ERC3009UsedAuthorization(address authorizer, bytes32 nonce)',
]);

/** The texts of FiatTokenV2_2 and of the ERC-20 it builds on, by what they begin or end with. */
const TEXTS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/authorization is used or canceled/, reasons.nonceUsed],
  [/authorization is expired/, reasons.validBefore],
  [/authorization is not yet valid/, reasons.validAfter],
  [/invalid signature/, reasons.signature],
  [/exceeds balance/, reasons.balance],
];

/** Why a simulated transfer reverted. */
export interface Revert {
  /** The x402 reason. */
  readonly reason: string;
  /** The token's own words, where it had any (at most 200 printable characters). */
  readonly text?: string;
}

/**
 * Reads revert data. Undefined when there is none: out of gas, no such contract, or a bare revert,
 * which say nothing about the authorization.
 */
export function readRevert(data: Hex): Revert | undefined {
  if (data === '0x') return undefined;
  const error = decode(data);
  if (!error) return { reason: reasons.simulation };
  switch (error.errorName) {
    case 'ERC20InsufficientBalance':
      return { reason: reasons.balance };
    case 'ERC3009InvalidSignature':
      return { reason: reasons.signature };
    case 'ERC3009InvalidAuthorizationTime':
      return { reason: reasons.validBefore };
    case 'ERC3009UsedAuthorization':
      return { reason: reasons.nonceUsed };
    case 'Error': {
      const text = error.args[0].replace(/[^\x20-\x7e]/g, '?').slice(0, 200);
      const reason = TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? reasons.simulation;
      return { reason, text };
    }
  }
}

function decode(data: Hex) {
  try {
    return decodeErrorResult({ abi: errorsAbi, data });
  } catch {
    return undefined;
  }
}
