import { keccak256, serializeTransaction, stringToHex } from 'viem';
import { address, type Address, type Hex } from '../../gateway/ground/domain/units.js';
import { signedTransaction, type Signer } from '../../gateway/money/settlement/signer.js';

/**
 * A relayer's key behind the signer's port. The bytes are those of a real EIP-1559 transaction, and
 * what stands in them for the signature depends on the key and on every field, as a signature does:
 * elliptic curves would take most of a world's time and are tested against a real chain.
 */
export interface SimSigner extends Signer {
  /** What this key, and no other, puts under an unsigned transaction. */
  seal(unsigned: Hex): Hex;
}

export function createSimSigner(index: number): SimSigner {
  const key = keccak256(stringToHex(`simulated relayer ${index}`));
  const account: Address = address(`0x${keccak256(key).slice(26)}`);
  const seal = (unsigned: Hex): Hex => keccak256(`${key}${unsigned.slice(2)}`);
  return {
    address: account,
    seal,
    sign: ({ nonce, gasLimit, ...fields }) => {
      const transaction = {
        type: 'eip1559',
        ...fields,
        nonce: Number(nonce),
        gas: gasLimit,
        value: 0n,
      } as const;
      const r = seal(serializeTransaction(transaction));
      const raw = serializeTransaction(transaction, { r, s: r, yParity: 0 });
      return Promise.resolve(signedTransaction(raw));
    },
  };
}
