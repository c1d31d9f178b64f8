import { decodeErrorResult } from 'viem';
import type { Hex } from '../../ground/domain/units.js';
import { reasons } from '../x402/reasons.js';

/** Why a simulated transfer reverted. */
export interface Revert {
  /** The x402 reason. */
  readonly reason: string;
  /** The token's own words, where it had any (at most 200 printable characters). */
  readonly text?: string;
}

/** What FiatTokenV2_2 says of the authorization itself; other texts are of the token's state. */
const TEXTS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/authorization is used or canceled/, reasons.nonceUsed],
  [/authorization is expired/, reasons.validBefore],
  [/authorization is not yet valid/, reasons.validAfter],
  [/invalid signature/, reasons.signature],
  [/exceeds balance/, reasons.balance],
];

/**
 * Reads revert data. Undefined when there is none: out of gas, no such contract, or a bare revert,
 * which say nothing about the authorization.
 */
export function readRevert(data: Hex): Revert | undefined {
  if (data === '0x') return undefined;
  const text = readText(data);
  if (text === undefined) return { reason: reasons.simulation };
  const reason = TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? reasons.simulation;
  return { reason, text };
}

/** The text of Solidity's `Error(string)`. */
function readText(data: Hex): string | undefined {
  try {
    const error = decodeErrorResult({ data });
    if (error.errorName !== 'Error') return undefined;
    return String(error.args[0])
      .slice(0, 200)
      .replace(/[^\x20-\x7e]/g, '?');
  } catch {
    return undefined;
  }
}
