import { isAddressEqual, recoverTypedDataAddress, type TypedDataDefinition } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { z } from 'zod';
import {
  batchSettlementDomain,
  batchSettlementTypes,
} from '../../../contracts-abi/batch-settlement.js';
import { address, type Address, type Bytes32, type Hex } from '../../ground/domain/units.js';
import type { ClaimEntry } from '../channels/digests.js';

/** A promise to give a payer something back (EIP-712 `Refund`). */
export interface RefundPromise {
  readonly channelId: Bytes32;
  /** The channel's refund nonce: each promise counts once. */
  readonly nonce: bigint;
  /** Atomic units; the contract gives at most what is free. */
  readonly amount: bigint;
}

/**
 * Holds the key that authorizes claims and refunds for the receiver, wherever it lives. Whoever loses
 * it loses no money: the receiver can claim by itself. Its address is part of every channel's id.
 */
export interface Authorizer {
  readonly address: Address;
  /** Signs these rows of a claim, in this order; 65 bytes. @throws when the signer does not. */
  signClaims(claims: readonly ClaimEntry[]): Promise<Hex>;
  signRefund(refund: RefundPromise): Promise<Hex>;
}

/** What is signed, as EIP-712 has it. */
function typedData(chainId: number, signed: Signed): TypedDataDefinition {
  const domain = batchSettlementDomain(chainId);
  const { ClaimBatch, ClaimEntry, Refund } = batchSettlementTypes;
  return signed.primaryType === 'ClaimBatch'
    ? { domain, types: { ClaimBatch, ClaimEntry }, ...signed }
    : { domain, types: { Refund }, ...signed, message: { ...signed.message } };
}

type Signed =
  | {
      readonly primaryType: 'ClaimBatch';
      readonly message: { readonly claims: readonly ClaimEntry[] };
    }
  | { readonly primaryType: 'Refund'; readonly message: RefundPromise };

const authorizer = (account: Address, sign: (signed: Signed) => Promise<Hex>): Authorizer => ({
  address: account,
  signClaims: (claims) => sign({ primaryType: 'ClaimBatch', message: { claims } }),
  signRefund: (message) => sign({ primaryType: 'Refund', message }),
});

/** An authorizer whose key is in this process. */
export function createLocalAuthorizer(privateKey: Hex, chainId: number): Authorizer {
  const account = privateKeyToAccount(privateKey);
  return authorizer(address(account.address), (signed) =>
    account.signTypedData(typedData(chainId, signed)),
  );
}

export interface RemoteAuthorizerSettings {
  /** The signer's JSON-RPC address; only ever set by the operator. Redirects are refused. */
  readonly url: string;
  readonly address: Address;
  /** Milliseconds for one signature. */
  readonly timeoutMs: number;
}

const ANSWER_BYTES_MAX = 4096;
const answerSchema = z.object({ result: z.string().regex(/^0x[0-9a-f]{130}$/i) });

/**
 * An authorizer behind HTTP: `eth_signTypedData` as Web3Signer and Clef speak it. The signature that
 * comes back is recovered, so that a signer gone wrong can stop claims but spoil none.
 */
export function createRemoteAuthorizer(
  settings: RemoteAuthorizerSettings,
  chainId: number,
): Authorizer {
  return authorizer(settings.address, async (signed) => {
    const typed = typedData(chainId, signed);
    const signature = await ask(settings, typed);
    const signer = await recoverTypedDataAddress({ ...typed, signature });
    if (!isAddressEqual(signer, settings.address)) {
      throw new Error('the signer signed for another account');
    }
    return signature;
  });
}

async function ask(
  { url, address: account, timeoutMs }: RemoteAuthorizerSettings,
  typed: object,
): Promise<Hex> {
  const params = [account, typed];
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_signTypedData', params };
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json' },
    // JSON has no big integers: EIP-712 over JSON-RPC takes them as decimal text.
    body: JSON.stringify(call, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    ),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  if (!response.ok || text.length > ANSWER_BYTES_MAX) {
    throw new Error(`the signer answered with status ${response.status}`);
  }
  const answer = answerSchema.safeParse(JSON.parse(text));
  if (!answer.success) throw new Error('the signer did not answer with a signature');
  return answer.data.result as Hex;
}
