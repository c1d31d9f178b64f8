import { hashTypedData } from 'viem';
import { z } from 'zod';
import type { ChainAllowance } from '../../ground/domain/allowance.js';
import type { Refusal } from '../../ground/domain/refusal.js';
import {
  parseAddress,
  parseBytes32,
  unixSeconds,
  type Address,
  type Bytes32,
  type Hex,
  type UnixSeconds,
} from '../../ground/domain/units.js';
import { askContract } from '../chain/contract-signature.js';
import type { ChainClient } from '../chain/client.js';
import { decodeCanonicalBase64 } from '../x402/base64.js';
import { parseJsonObject } from '../x402/json.js';
import { createRecover, isCanonical, isKeySignature } from './signature.js';

/** The value of `PAYMENT-PROOF`: its payer asks what became of a payment. */
export interface StatusProof {
  readonly payer: Address;
  readonly nonce: Bytes32;
  readonly issuedAt: UnixSeconds;
  readonly signature: Hex;
}

/** A proof is at most this long; one by a key has about 450 characters. */
const PROOF_LENGTH_MAX = 8192;
/** A proof is good for this long before and after the server's time. */
const PROOF_AGE_SECONDS_MAX = 300;
/** Recovered signers that are remembered: a payer asks several times with one proof. */
const SIGNERS_MAX = 256;

const schema = z.strictObject({
  payer: z.string(),
  nonce: z.string(),
  issuedAt: z.int().min(0),
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/),
});

/** Reads the header; undefined for anything but canonical base64 of exactly the four members. */
export function decodeStatusProof(header: string): StatusProof | undefined {
  if (header.length > PROOF_LENGTH_MAX) return undefined;
  const text = decodeCanonicalBase64(header);
  const { data } = schema.safeParse(text === undefined ? undefined : parseJsonObject(text));
  const payer = parseAddress(data?.payer ?? '');
  const nonce = parseBytes32(data?.nonce ?? '');
  if (!data || !payer || !nonce) return undefined;
  const signature = data.signature.toLowerCase() as Hex;
  return { payer, nonce, issuedAt: unixSeconds(data.issuedAt), signature };
}

const TYPES = {
  PaymentStatusRequest: [
    { name: 'payer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'audience', type: 'string' },
  ],
} as const;

/** What the payer signs (EIP-712). `audience` is the origin of the service that is asked. */
export function statusProofDigest(
  { payer, nonce, issuedAt }: Omit<StatusProof, 'signature'>,
  { chainId, audience }: { readonly chainId: number; readonly audience: string },
): Hex {
  return hashTypedData({
    domain: { name: 'search402', version: '1', chainId },
    types: TYPES,
    primaryType: 'PaymentStatusRequest',
    message: { payer, nonce, issuedAt: BigInt(issuedAt), audience },
  });
}

interface ProofParts {
  readonly client: Pick<ChainClient, 'request'>;
  readonly chainId: number;
  /** The service's origin: a proof for another service is worth nothing here. */
  readonly audience: string;
  /** Whether contracts may sign, as for payments. */
  readonly contractWallets: boolean;
}

/**
 * Says whether a proof is its payer's and fresh; `unknown` while the chain is out of reach. What no
 * key has signed takes a question of the allowance before the chain is asked, or is refused.
 */
export type CheckStatusProof = (
  proof: StatusProof,
  now: UnixSeconds,
  allowance: ChainAllowance,
) => Promise<'yes' | 'no' | 'unknown' | Refusal>;

export function createStatusProofCheck(parts: ProofParts): CheckStatusProof {
  const recover = createRecover(SIGNERS_MAX);
  return async (proof, now, allowance) => {
    if (Math.abs(now - proof.issuedAt) > PROOF_AGE_SECONDS_MAX) return 'no';
    const { payer, signature } = proof;
    const hash = statusProofDigest(proof, parts);
    const mayBeKeys = isKeySignature(signature) && isCanonical(signature);
    if (mayBeKeys && recover(hash, signature) === payer) return 'yes';
    if (!parts.contractWallets) return 'no';
    const refusal = allowance.take(1);
    if (refusal) return refusal;
    return askContract(parts.client, { hash, address: payer, signature });
  };
}
