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
} from '../../gateway/domain/units.js';
import type { SignedAuthorization } from '../../gateway/payment/authorization.js';
import { requirements, type PaymentTerms, type Resource } from '../../gateway/x402/terms.js';
import { EPOCH_MS } from './process.js';

/** A payment that somebody may present, signed before any world began. */
export interface Note {
  readonly name: string;
  readonly authorization: SignedAuthorization;
  /** The value of the PAYMENT-SIGNATURE header. */
  readonly header: string;
}

/** Whoever pays, and what it has signed. */
export interface Purse {
  readonly name: string;
  readonly payer: Address;
  readonly notes: readonly Note[];
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

/** When the notes of a purse begin and end to be valid, in seconds of the world's time. */
const WINDOWS: readonly (readonly [after: number, before: number])[] = [
  [-60, 900],
  [-60, 900],
  [-60, 400],
  [-60, 120],
  [-60, 60],
  [15, 600],
];
const PURSES_BY_KEY = 3;
const PURSES_BY_CONTRACT = 3;

let purses: Promise<readonly Purse[]> | undefined;
const valid = new Set<string>();

/** Every purse there is: signing takes time, so that all worlds of a process share them. */
export function openPurses(): Promise<readonly Purse[]> {
  purses ??= Promise.all(
    Array.from({ length: PURSES_BY_KEY + PURSES_BY_CONTRACT }, (_, index) => fillPurse(index)),
  );
  return purses;
}

/**
 * Whether the payer's key, or its wallet contract, stands behind this signature: true for what the
 * purses hold and for nothing else.
 */
export function isSignatureGood(authorization: SignedAuthorization): boolean {
  return valid.has(textOf(authorization));
}

async function fillPurse(index: number): Promise<Purse> {
  const account = privateKeyToAccount(keccak256(stringToHex(`simulated payer ${index}`)));
  const payer = address(account.address);
  const isKey = index < PURSES_BY_KEY;
  const name = `${isKey ? 'key' : 'wallet'}-${index}`;
  const notes = WINDOWS.map(async ([after, before], number): Promise<Note> => {
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
  return { name, payer, notes: await Promise.all(notes) };
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
