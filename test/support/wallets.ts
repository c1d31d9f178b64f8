import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { createWalletProof } from '../../gateway/money/chain/wallet-proof.js';
import type { Tab } from './tab.js';
import { address, type Address } from '../../gateway/ground/domain/units.js';

/** Proofs of wallets with keys of their own, at an address of the console, without a chain. */
export const keyWalletProof = (publicUrl: string) =>
  createWalletProof({
    client: { request: () => Promise.reject(new Error('no chain here')) },
    chainId: 8453,
    publicUrl,
    contractWallets: false,
  });

export interface TestWallet {
  readonly address: Address;
  readonly account: PrivateKeyAccount;
}

/** A wallet with a fresh key. */
export function someWallet(): TestWallet {
  const account = privateKeyToAccount(generatePrivateKey());
  return { address: address(account.address), account };
}

/** What the page's script would send after the wallet has signed what `path` asks for. */
export async function signedChallenge(
  tab: Tab,
  wallet: TestWallet,
  path = '/console/wallet/challenge',
): Promise<{ nonce: string; signature: string }> {
  const { text } = await tab.post(path, { address: wallet.address });
  const { nonce, message } = JSON.parse(text) as { nonce: string; message: string };
  return { nonce, signature: await wallet.account.signMessage({ message }) };
}

/** Adds a wallet to the profile of the person whose tab it is. */
export async function addWallet(tab: Tab, wallet: TestWallet): Promise<void> {
  const form = await signedChallenge(tab, wallet, '/console/profile/wallets/challenge');
  const { status, text } = await tab.post('/console/profile/wallets', form);
  if (status !== 303) throw new Error(text);
}
