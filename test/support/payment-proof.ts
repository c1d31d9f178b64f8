import { privateKeyToAccount } from 'viem/accounts';
import type { TestService } from './service.js';

type Hex = `0x${string}`;

const TYPES = {
  PaymentStatusRequest: [
    { name: 'payer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'audience', type: 'string' },
  ],
} as const;

/** The `PAYMENT-PROOF` by which a service's own payer asks for the payment of this nonce. */
export async function signStatusProof({ dev }: TestService, nonce: Hex): Promise<string> {
  const account = privateKeyToAccount(dev.payerPrivateKey as Hex);
  const payer = account.address;
  const issuedAt = Math.floor(Date.now() / 1000);
  const signature = await account.signTypedData({
    domain: { name: 'search402', version: '1', chainId: dev.chainId },
    types: TYPES,
    primaryType: 'PaymentStatusRequest',
    message: { payer, nonce, issuedAt: BigInt(issuedAt), audience: 'http://localhost:0' },
  });
  return Buffer.from(JSON.stringify({ payer, nonce, issuedAt, signature })).toString('base64');
}
