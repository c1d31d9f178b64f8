import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http';
import type { PaymentRequired } from '@x402/core/types';
import { createSiweMessage } from 'viem/siwe';
import type { PrivateKeyAccount } from 'viem/accounts';
import { devClient } from './pay.js';
import type { TestService } from './service.js';

/** The 200 of `POST /packs`. */
export interface BoughtPack {
  readonly requestId: string;
  readonly key: string;
  readonly pack: { id: string; searches: number; amountUsd: string; expiresAt: string };
}

type Desk = Pick<TestService, 'gatewayUrl'>;

/** `POST /packs`, at the gateway. */
export function postPacks(
  { gatewayUrl }: Desk,
  headers: Readonly<Record<string, string>> = {},
  body: unknown = {},
): Promise<Response> {
  return fetch(`${gatewayUrl}/packs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** What a 402 asks for. */
export function challengeOf(response: Response): PaymentRequired {
  const quote = response.headers.get('payment-required');
  if (quote === null) throw new Error(`no quote but ${response.status}`);
  return decodePaymentRequiredHeader(quote);
}

/** Asks what a pack costs, and signs for it with the development payer: one payment header. */
export async function signForPack(service: TestService, body: unknown = {}): Promise<string> {
  const challenge = challengeOf(await postPacks(service, {}, body));
  return encodePaymentSignatureHeader(await devClient(service).createPaymentPayload(challenge));
}

interface SignInInfo {
  readonly domain: string;
  readonly uri: string;
  readonly version: '1';
  readonly nonce: string;
  readonly issuedAt: string;
  readonly expirationTime: string;
  readonly statement: string;
  readonly resources: string[];
}

/** Signs what a 402 asks a wallet to sign (x402 extension sign-in-with-x): one header. */
export async function signIn(
  challenge: PaymentRequired,
  account: Pick<PrivateKeyAccount, 'address' | 'signMessage'>,
  changed: Partial<SignInInfo> = {},
): Promise<string> {
  const { info, supportedChains } = challenge.extensions?.['sign-in-with-x'] as {
    info: SignInInfo;
    supportedChains: { chainId: string; type: string }[];
  };
  const [chain] = supportedChains;
  const said = { ...info, ...changed };
  const message = createSiweMessage({
    ...said,
    address: account.address,
    chainId: Number(chain?.chainId.split(':')[1]),
    issuedAt: new Date(said.issuedAt),
    expirationTime: new Date(said.expirationTime),
  });
  const signature = await account.signMessage({ message });
  const proof = { ...said, ...chain, address: account.address, signature };
  return Buffer.from(JSON.stringify(proof)).toString('base64');
}

/** Asks as a wallet: fetches the challenge, signs it, sends it. */
export async function askAsWallet(
  { gatewayUrl }: Desk,
  account: Pick<PrivateKeyAccount, 'address' | 'signMessage'>,
  { path = '/packs', method = 'GET' } = {},
): Promise<Response> {
  const asked = await fetch(`${gatewayUrl}${path}`, { method });
  const proof = await signIn(challengeOf(asked), account);
  return fetch(`${gatewayUrl}${path}`, { method, headers: { 'sign-in-with-x': proof } });
}
