import { ConfigurationError, SigningError } from '../errors.js';
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

/** EIP-712 typed data of one EIP-3009 `ReceiveWithAuthorization`: a deposit into a channel. */
export interface DepositTypedData {
  readonly domain: TypedData['domain'];
  readonly types: { readonly ReceiveWithAuthorization: readonly TypedField[] };
  readonly primaryType: 'ReceiveWithAuthorization';
  readonly message: TypedData['message'];
}

/** EIP-712 typed data of one voucher: what a channel's payee may claim in all. */
export interface VoucherTypedData {
  readonly domain: TypedData['domain'];
  readonly types: { readonly Voucher: readonly TypedField[] };
  readonly primaryType: 'Voucher';
  readonly message: { readonly channelId: Hex; readonly maxClaimableAmount: bigint };
}

/** All that a wallet is ever asked to sign. */
export type SignedData = TypedData | StatusTypedData | DepositTypedData | VoucherTypedData;

/** Who has to sign this; a voucher does not say. */
export function signerOf({ message }: SignedData): Hex | undefined {
  if ('from' in message) return message.from;
  return 'payer' in message ? message.payer : undefined;
}

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

/** A viem wallet client: its account pays. Without an account it is asked as a provider. */
export interface ClientWallet extends ProviderWallet {
  readonly account?: { readonly address: Hex } | undefined;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  signTypedData(data: any): Promise<Hex>;
}

/** A signer that takes domain, types and message one by one, as those of ethers 6 do. */
export interface SignerWallet {
  getAddress(): Promise<string>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  signTypedData(domain: any, types: any, message: any): Promise<string>;
}

/** A wallet provider that takes everything at once, such as AgentKit's. */
export interface AddressedWallet {
  getAddress(): string | Promise<string>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  signTypedData(data: any): Promise<Hex>;
}

/**
 * What can pay: a viem account or wallet client, a signer of ethers 6, a wallet provider of
 * AgentKit, an EIP-1193 provider, or anything of the same form.
 */
export type Wallet = AccountWallet | ProviderWallet | ClientWallet | SignerWallet | AddressedWallet;

/** A wallet in the form that the payer uses. */
interface PlainWallet {
  /** The paying address, as the wallet writes it. */
  address(): Promise<unknown>;
  sign(data: SignedData): Promise<unknown>;
}

const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value);

const EIP712_DOMAIN: readonly TypedField[] = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** Members of any of the wallets above, as an object may have them. */
type Members = Partial<Record<'address' | 'account' | 'getAddress' | 'signTypedData', unknown>>;

/** In which way an object is a wallet; undefined when it is none. */
function plainWallet(wallet: Wallet): PlainWallet | undefined {
  const { address, account, getAddress, signTypedData } = wallet as Members;
  if (typeof signTypedData === 'function') {
    const own = isHex(address) ? address : (account as { address?: unknown } | undefined)?.address;
    // ethers names the address too, and takes three arguments where viem takes one.
    if (typeof getAddress === 'function' && signTypedData.length > 1) {
      return ofSigner(wallet as SignerWallet);
    }
    if (isHex(own)) {
      return {
        address: () => Promise.resolve(own),
        sign: (data) => (wallet as AccountWallet).signTypedData(data),
      };
    }
    if (typeof getAddress === 'function') {
      const one = wallet as AddressedWallet;
      return {
        address: async () => await one.getAddress(),
        sign: (data) => one.signTypedData(data),
      };
    }
  }
  return 'request' in wallet && typeof wallet.request === 'function'
    ? ofProvider(wallet)
    : undefined;
}

function ofSigner(signer: SignerWallet): PlainWallet {
  return {
    address: () => signer.getAddress(),
    sign: ({ domain, types, message }) => signer.signTypedData(domain, types, message),
  };
}

function ofProvider(provider: ProviderWallet): PlainWallet {
  const address = async () => {
    const accounts: unknown = await provider.request({ method: 'eth_requestAccounts' });
    return Array.isArray(accounts) ? (accounts[0] as unknown) : undefined;
  };
  return {
    address,
    sign: async (data) => {
      const payer = signerOf(data) ?? (await address());
      const params = [payer, providerJson(data)];
      return (await provider.request({ method: 'eth_signTypedData_v4', params })) as unknown;
    },
  };
}

/**
 * @throws {ConfigurationError} when this cannot pay; it never repeats the value, which may be a key
 */
export function checkWallet(wallet: unknown): void {
  if (typeof wallet === 'string') {
    throw new ConfigurationError(
      'wallet must be a wallet, not text; for a private key: ' +
        "privateKeyAccount(key) from 'search402/node'",
    );
  }
  const isObject = (typeof wallet === 'object' || typeof wallet === 'function') && wallet !== null;
  if (isObject && plainWallet(wallet as Wallet)) return;
  throw new ConfigurationError(
    'wallet must be a viem account or wallet client, an ethers signer, or an EIP-1193 provider',
  );
}

function asPlain(wallet: Wallet): PlainWallet {
  const known = plainWallet(wallet);
  if (known) return known;
  throw new SigningError('the wallet cannot sign typed data');
}

/**
 * The paying address, in lower case.
 * @throws {SigningError} when the wallet shows none
 */
export async function walletAddress(wallet: Wallet): Promise<Hex> {
  const address = await attempt(() => asPlain(wallet).address());
  if (!isHex(address) || address.length !== 42) throw new SigningError('the wallet has no account');
  return address.toLowerCase() as Hex;
}

/**
 * Signs with the wallet.
 * @throws {SigningError} when it refuses, fails or answers with anything but hex
 */
export async function signTyped(wallet: Wallet, data: SignedData): Promise<Hex> {
  const signature = await attempt(() => asPlain(wallet).sign(data));
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

/** What the wallet gives; what it throws is a refusal to sign. */
async function attempt(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const why = error instanceof Error ? error.message : 'the wallet refused';
    throw new SigningError(`the wallet did not sign: ${why}`, { cause: error });
  }
}
