import { SigningError } from '../errors.js';
import type { Hex } from '../hex.js';

interface TypedField {
  readonly name: string;
  readonly type: string;
}

/** EIP-712 typed data of one EIP-3009 `TransferWithAuthorization`. */
export interface TypedData {
  readonly domain: {
    readonly name: string;
    readonly version: string;
    readonly chainId: number;
    readonly verifyingContract: Hex;
  };
  readonly types: { readonly TransferWithAuthorization: readonly TypedField[] };
  readonly primaryType: 'TransferWithAuthorization';
  readonly message: {
    readonly from: Hex;
    readonly to: Hex;
    readonly value: bigint;
    readonly validAfter: bigint;
    readonly validBefore: bigint;
    readonly nonce: Hex;
  };
}

/** EIP-712 typed data by which a payer asks what became of a payment. */
export interface StatusTypedData {
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number };
  readonly types: { readonly PaymentStatusRequest: readonly TypedField[] };
  readonly primaryType: 'PaymentStatusRequest';
  readonly message: {
    readonly payer: Hex;
    readonly nonce: Hex;
    readonly issuedAt: bigint;
    readonly audience: string;
  };
}

/** All that a wallet is ever asked to sign. */
export type SignedData = TypedData | StatusTypedData;

/** A viem account, or anything with an address that signs typed data. */
export interface AccountWallet {
  readonly address: Hex;
  // The parameter is loose, so that viem's generic signature fits without a dependency on viem.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  signTypedData(data: any): Promise<Hex>;
}

/** An EIP-1193 provider, such as a browser wallet. */
export interface ProviderWallet {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  request(call: any): Promise<any>;
}

export type Wallet = AccountWallet | ProviderWallet;

const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value);

const EIP712_DOMAIN: readonly TypedField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

function isAccount(wallet: Wallet): wallet is AccountWallet {
  return 'signTypedData' in wallet && isHex(wallet.address);
}

/**
 * The paying address, in lower case.
 * @throws {SigningError} when the wallet shows none
 */
export async function walletAddress(wallet: Wallet): Promise<Hex> {
  if (isAccount(wallet)) return wallet.address.toLowerCase() as Hex;
  const accounts: unknown = await attempt(() => wallet.request({ method: 'eth_requestAccounts' }));
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (!isHex(first) || first.length !== 42) throw new SigningError('the wallet has no account');
  return first.toLowerCase() as Hex;
}

/**
 * Signs with the wallet. A provider is asked through `eth_signTypedData_v4`.
 * @throws {SigningError} when it refuses, fails or answers with anything but hex
 */
export async function signTyped(wallet: Wallet, data: SignedData): Promise<Hex> {
  const { message } = data;
  const payer = 'from' in message ? message.from : message.payer;
  const signature = isAccount(wallet)
    ? await attempt(() => wallet.signTypedData(data))
    : await attempt(() =>
        wallet.request({
          method: 'eth_signTypedData_v4',
          params: [payer, providerJson(data)],
        }),
      );
  if (!isHex(signature) || signature.length < 132) {
    throw new SigningError('the wallet returned something that is not a signature');
  }
  return signature;
}

function providerJson(data: SignedData): string {
  const domain = EIP712_DOMAIN.filter(({ name }) => name in data.domain);
  const types = { EIP712Domain: domain, ...data.types };
  return JSON.stringify({ ...data, types }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

async function attempt(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const why = error instanceof Error ? error.message : 'the wallet refused';
    throw new SigningError(`the wallet did not sign: ${why}`, { cause: error });
  }
}
