/**
 * Pays an x402 challenge from a wallet that the browser has (EIP-1193): the wallet signs an
 * EIP-3009 authorization as typed data (EIP-712); the gateway submits it.
 */
interface Wallet {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
}

declare global {
  interface Window {
    readonly ethereum?: Wallet;
  }
}

/** What the `exact` scheme asks for (x402 version 2). */
interface Requirements {
  readonly scheme: string;
  readonly network: string;
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: { readonly name: string; readonly version: string };
}

/** A payment that the server asks for: PaymentRequired of x402. */
export interface Challenge {
  readonly resource: unknown;
  readonly accepts: readonly Requirements[];
}

/** Something that the person can put right; its message is shown as it is. */
export class WalletProblem extends Error {}

/** Seconds by which clocks may differ: the authorization is valid from that long ago. */
const CLOCK_SKEW_SECONDS = 600;

/** Sends a request; when it is answered by a challenge, asks the wallet and sends it once more. */
export async function fetchPaying(
  url: string,
  init: { method: string; headers: Record<string, string>; body: BodyInit },
  say: (state: string) => void,
): Promise<Response> {
  const first = await fetch(url, init);
  const header = first.headers.get('PAYMENT-REQUIRED');
  if (first.status !== 402 || header === null) return first;
  const challenge = JSON.parse(atob(header)) as Challenge;
  say('Sign the payment in your wallet …');
  const payment = btoa(JSON.stringify(await paymentFor(challenge)));
  say('Paying …');
  return sendPaid(
    url,
    { ...init, headers: { ...init.headers, 'PAYMENT-SIGNATURE': payment } },
    say,
  );
}

const PENDING_TRIES = 15;

/** While the outcome is not known, the very same payment is sent again, never a new one. */
async function sendPaid(url: string, init: RequestInit, say: (state: string) => void) {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url, init);
    if (response.status !== 503 || tries === PENDING_TRIES) return response;
    say('Sending the payment …');
    const seconds = Number(response.headers.get('Retry-After') ?? '2');
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

/** Lets the wallet sign a payment of exactly what is asked for: PaymentPayload of x402. */
export async function paymentFor({ resource, accepts }: Challenge): Promise<object> {
  const wallet = window.ethereum;
  if (!wallet) throw new WalletProblem('This browser has no wallet.');
  const accepted = accepts.find(({ scheme }) => scheme === 'exact');
  if (!accepted)
    throw new WalletProblem('This page doesn’t support the payment that the server asks for.');
  const [from] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  if (from === undefined) throw new WalletProblem('The wallet has no account.');
  const chainId = Number(accepted.network.split(':')[1]);
  await useChain(wallet, chainId);
  const now = Math.floor(Date.now() / 1000);
  const authorization = {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: String(now - CLOCK_SKEW_SECONDS),
    validBefore: String(now + accepted.maxTimeoutSeconds),
    nonce: randomNonce(),
  };
  const typedData = JSON.stringify({
    types: TYPES,
    domain: { ...accepted.extra, chainId, verifyingContract: accepted.asset },
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
  const signature = await wallet.request({
    method: 'eth_signTypedData_v4',
    params: [from, typedData],
  });
  const payload = { signature, authorization };
  return { x402Version: 2, resource, accepted, payload };
}

async function useChain(wallet: Wallet, chainId: number): Promise<void> {
  const wanted = `0x${chainId.toString(16)}`;
  const current = await wallet.request({ method: 'eth_chainId' });
  if (Number(current) === chainId) return;
  await wallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] });
}

function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** EIP-712 types of EIP-3009's `transferWithAuthorization`. */
const TYPES = {
  EIP712Domain: [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ],
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
};

/** Where people look at transactions, by CAIP-2 network. */
const EXPLORERS: Readonly<Record<string, string>> = {
  'eip155:8453': 'https://basescan.org/tx/',
  'eip155:84532': 'https://sepolia.basescan.org/tx/',
};

/** The receipt of a reply (x402's PAYMENT-RESPONSE), and where its transaction can be seen. */
export function decodedReceipt(response: Response): { receipt: object; link?: string } | undefined {
  const header = response.headers.get('PAYMENT-RESPONSE');
  if (header === null) return undefined;
  const receipt = JSON.parse(atob(header)) as { network?: string; transaction?: string };
  const explorer = EXPLORERS[receipt.network ?? ''];
  if (explorer === undefined || !/^0x[0-9a-f]{64}$/i.test(receipt.transaction ?? ''))
    return { receipt };
  return { receipt, link: `${explorer}${receipt.transaction ?? ''}` };
}

/** What went wrong, for a person. */
export function messageOf(error: unknown): string {
  if (error instanceof WalletProblem) return error.message;
  if (isDeclined(error)) return 'You declined in the wallet. Nothing was paid.';
  return 'Something went wrong. Check Billing or your wallet to see whether you paid.';
}

/** Whether the person said no to the wallet (EIP-1193, "Provider Errors"). */
export function isDeclined(error: unknown): boolean {
  return ((error ?? {}) as { code?: unknown }).code === 4001;
}
