import { x402Client } from '@x402/core/client';
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm';
import { createPublicClient, http, parseAbiItem } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { TestService } from './service.js';

/** An official client that pays with the development payer. */
export function devClient(service: TestService): x402Client {
  const account = privateKeyToAccount(service.dev.payerPrivateKey as `0x${string}`);
  return new x402Client().register('eip155:8453', new ExactEvmScheme(account));
}

/** Asks for a quote with an unpaid request, and signs it: the value of one payment header. */
export async function signPayment(service: TestService, body: unknown): Promise<string> {
  const unpaid = await service.search(body);
  const quote = unpaid.headers.get('payment-required');
  if (quote === null) throw new Error(`no quote but ${unpaid.status} ${await unpaid.text()}`);
  const challenge = decodePaymentRequiredHeader(quote);
  return encodePaymentSignatureHeader(await devClient(service).createPaymentPayload(challenge));
}

/** The receipt of a paid response. */
export function receiptOf(response: { headers: Headers }) {
  const header = response.headers.get('payment-response');
  if (header === null) throw new Error('there is no receipt');
  return decodePaymentResponseHeader(header);
}

/** Transfers of the token to the payee, as the service's chain tells them. */
export function transfersToPayee(service: TestService) {
  const client = createPublicClient({ transport: http(service.dev.rpcUrl) });
  return client.getLogs({
    address: service.dev.asset as `0x${string}`,
    event: parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)'),
    args: { to: service.dev.payTo as `0x${string}` },
    fromBlock: 0n,
  });
}
