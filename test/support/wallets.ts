import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { createWalletProof } from '../../gateway/chain/wallet-proof.js';
import { address, type Address } from '../../gateway/domain/units.js';

/** Proofs of wallets with keys of their own, at an address of the console, without a chain. */
export const keyWalletProof = (publicUrl: string) =>
  createWalletProof({
    client: { request: () => Promise.reject(new Error('no chain here')) },
    chainId: 8453,
    publicUrl,
    contractWallets: false,
  });

/** A wallet with a fresh key. */
export function someWallet(): { address: Address; account: PrivateKeyAccount } {
  const account = privateKeyToAccount(generatePrivateKey());
  return { address: address(account.address), account };
}
