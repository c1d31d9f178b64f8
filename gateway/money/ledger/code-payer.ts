import { bytes32, type Bytes32 } from '../../ground/domain/units.js';

/**
 * A payer that runs code of its own in every transfer (ERC-1271, ERC-6492, EIP-7702), and what its
 * transfer may use.
 */
export interface CodePayer {
  /** The hash of its code; of a wallet that its first payment deploys, the factory's address. */
  readonly code: Bytes32;
  /** What its own simulation justifies, for the whole transaction. */
  readonly gasLimit: bigint;
}

/** A payer's code as the books keep it; undefined for a plain key. */
export function codePayerOf(code: string | null, gasLimit: bigint | null): CodePayer | undefined {
  return code === null ? undefined : { code: bytes32(code), gasLimit: gasLimit ?? 0n };
}
