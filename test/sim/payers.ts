import { keccak256, stringToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { BASE_CHAIN_ID, USDC_ADDRESS, USDC_DOMAIN } from '../../contracts-abi/addresses.js';
import { authorizationTypes } from '../../contracts-abi/usdc.js';
import {
  address,
  bytes32,
  unixSeconds,
  usdcUnits,
  type Address,
  type Hex,
} from '../../gateway/ground/domain/units.js';
import type { SignedAuthorization } from '../../gateway/money/payment/authorization.js';
import { requirements, type PaymentTerms, type Resource } from '../../gateway/money/x402/terms.js';
import { EPOCH_MS } from './process.js';

/** A payment that somebody may present, signed before any world began. */
export interface SignedPayment {
  readonly name: string;
  readonly authorization: SignedAuthorization;
  /** The value of the PAYMENT-SIGNATURE header. */
  readonly header: string;
}

/** Whoever pays, and what it has signed. */
export interface Payer {
  readonly name: string;
  readonly address: Address;
  readonly payments: readonly SignedPayment[];
}

export const PUBLIC_URL = 'http://search.example/';

export const TERMS: PaymentTerms = {
  chainId: BASE_CHAIN_ID,
  asset: address(USDC_ADDRESS),
  domain: USDC_DOMAIN,
  payTo: address('0x00000000000000000000000000000000000000aa'),
  amount: usdcUnits(50n),
  maxTimeoutSeconds: 300,
};

const RESOURCE: Resource = { url: `${PUBLIC_URL}search` };
const EPOCH_SECONDS = EPOCH_MS / 1000;

/** When the payments of a payer begin and end to be valid, in seconds of the world's time. */
const WINDOWS: readonly (readonly [after: number, before: number])[] = [
  [-60, 900],
  [-60, 900],
  [-60, 400],
  [-60, 120],
  [-60, 60],
  [15, 600],
];
const PAYERS_BY_KEY = 3;
const PAYERS_BY_CONTRACT = 3;
/**
 * Accounts that pass every simulation and burn all gas in a transaction: a wallet, a key that
 * delegates to code (EIP-7702), and a key whose delegation comes after every look at it.
 */
const BURNERS = ['burner', 'delegate', 'sleeper'] as const;
const BURNERS_FROM = PAYERS_BY_KEY + PAYERS_BY_CONTRACT;

let payers: Promise<readonly Payer[]> | undefined;
const valid = new Set<string>();

/** Every payer there is: signing takes time, so that all worlds of a process share them. */
export function openPayers(): Promise<readonly Payer[]> {
  payers ??= Promise.all(
    Array.from({ length: BURNERS_FROM + BURNERS.length }, (_, index) => signAsPayer(index)),
  );
  return payers;
}

/**
 * Whether the payer's key, or its wallet contract, stands behind this signature: true for what the
 * payers hold and for nothing else.
 */
export function isSignatureGood(authorization: SignedAuthorization): boolean {
  return valid.has(textOf(authorization));
}

/** What an account is: its signature's kind, and what its code does. */
type PayerKind = 'key' | 'wallet' | (typeof BURNERS)[number];

const kinds = new Map<Address, PayerKind>();

function kindOf(index: number): PayerKind {
  if (index < PAYERS_BY_KEY) return 'key';
  return BURNERS[index - BURNERS_FROM] ?? 'wallet';
}

/** What kind of account a payer is; strangers have plain keys. */
export function payerKind(payer: Address): PayerKind {
  return kinds.get(payer) ?? 'key';
}

/** Whether its code burns all gas of a transaction. */
export function isBurner(payer: Address): boolean {
  return payerKind(payer) !== 'key' && payerKind(payer) !== 'wallet';
}

async function signAsPayer(index: number): Promise<Payer> {
  const account = privateKeyToAccount(keccak256(stringToHex(`simulated payer ${index}`)));
  const payer = address(account.address);
  const kind = kindOf(index);
  const isKey = kind === 'key' || kind === 'delegate' || kind === 'sleeper';
  const name = `${kind}-${index}`;
  kinds.set(payer, kind);
  const payments = WINDOWS.map(async ([after, before], number): Promise<SignedPayment> => {
    const unsigned = {
      from: payer,
      to: TERMS.payTo,
      value: TERMS.amount,
      validAfter: unixSeconds(EPOCH_SECONDS + after),
      validBefore: unixSeconds(EPOCH_SECONDS + before),
      nonce: bytes32(keccak256(stringToHex(`nonce ${number} of payer ${index}`))),
    };
    const signature = isKey
      ? await account.signTypedData({
          domain: {
            ...TERMS.domain,
            chainId: TERMS.chainId,
            verifyingContract: TERMS.asset,
          },
          types: authorizationTypes,
          primaryType: 'TransferWithAuthorization',
          message: {
            ...unsigned,
            validAfter: BigInt(unsigned.validAfter),
            validBefore: BigInt(unsigned.validBefore),
          },
        })
      : walletSignature(unsigned.nonce);
    const { chainId, asset } = TERMS;
    const authorization = { chainId, asset, ...unsigned, signature };
    valid.add(textOf(authorization));
    return { name: `${name}/${number}`, authorization, header: headerOf(authorization) };
  });
  return { name, address: payer, payments: await Promise.all(payments) };
}

/** A wallet contract has signatures of its own kind; this one knows 96 bytes for each nonce. */
function walletSignature(nonce: Hex): Hex {
  const half = keccak256(nonce).slice(2);
  return `0x${half}${half}${half}`;
}

function textOf(authorization: SignedAuthorization): string {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  return [from, to, value, validAfter, validBefore, nonce, signature].join(' ');
}

function headerOf({ signature, ...authorization }: SignedAuthorization): string {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const payment = {
    x402Version: 2,
    resource: { url: RESOURCE.url },
    accepted: requirements(TERMS),
    payload: {
      signature,
      authorization: {
        from,
        to,
        value: value.toString(),
        validAfter: validAfter.toString(),
        validBefore: validBefore.toString(),
        nonce,
      },
    },
  };
  return Buffer.from(JSON.stringify(payment)).toString('base64');
}
