import { hexToBytes, keccak256 } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { address, bytes32 } from '../../ground/domain/units.js';
import type { Address, Hex, TransactionHash } from '../../ground/domain/units.js';

/** An EIP-1559 transaction before it is signed; it never carries value beyond its gas. */
export interface UnsignedTransaction {
  readonly chainId: number;
  readonly nonce: bigint;
  readonly to: Address;
  readonly data: Hex;
  readonly gasLimit: bigint;
  /** Wei per gas. */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export interface SignedTransaction {
  readonly hash: TransactionHash;
  readonly raw: Uint8Array;
}

/** Holds one relayer key, wherever it lives; the key itself never leaves it. */
export interface Signer {
  readonly address: Address;
  sign(transaction: UnsignedTransaction): Promise<SignedTransaction>;
}

/** The serialized form of a signed transaction with the hash that names it. */
export function signedTransaction(serialized: Hex): SignedTransaction {
  return { hash: bytes32(keccak256(serialized)), raw: hexToBytes(serialized) };
}

/** A signer whose key is in this process. */
export function createLocalSigner(privateKey: Hex): Signer {
  const account = privateKeyToAccount(privateKey);
  return {
    address: address(account.address),
    sign: async ({ nonce, gasLimit, ...transaction }) =>
      signedTransaction(
        await account.signTransaction({
          type: 'eip1559',
          ...transaction,
          nonce: Number(nonce),
          gas: gasLimit,
          value: 0n,
        }),
      ),
  };
}
