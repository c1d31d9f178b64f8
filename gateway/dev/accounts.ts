import { keccak256, toHex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';

/**
 * The accounts of the development chain. Their keys follow from public text: they are WORTHLESS,
 * and whatever is sent to them on a real chain can be taken by anyone. They are not anvil's
 * well-known accounts, because on forks of real chains those have been delegated to strangers'
 * contracts (EIP-7702), which would then answer for their signatures.
 */
const worthlessKey = (role: string) => keccak256(toHex(`search402 worthless development ${role}`));

export const devAccounts = {
  payerPrivateKey: worthlessKey('payer'),
  payerAddress: privateKeyToAddress(worthlessKey('payer')),
  relayerPrivateKey: worthlessKey('relayer'),
  relayerAddress: privateKeyToAddress(worthlessKey('relayer')),
  payTo: privateKeyToAddress(worthlessKey('payee')),
} as const;
