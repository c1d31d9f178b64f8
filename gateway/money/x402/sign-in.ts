import { z } from 'zod';
import { parseAddress, type Address, type Hex } from '../../ground/domain/units.js';
import { decodeCanonicalBase64, encodeJson } from './base64.js';
import { parseJsonObject } from './json.js';
import { network, type Resource } from './terms.js';

/** The x402 extension by which a wallet shows that it is there (CAIP-122, in the form of ERC-4361). */
const SIGN_IN_WITH_X = 'sign-in-with-x';

/** Seconds from issue for which a challenge is good: the extension's own default. */
export const SIGN_IN_SECONDS = 300;

/** What a wallet is asked to sign. */
export interface SignInChallenge {
  /** The service's host, as a wallet compares it with the page that asks. */
  readonly domain: string;
  /** What is asked for; the signature is good for it alone. */
  readonly uri: string;
  readonly chainId: number;
  /** One line of printable ASCII. */
  readonly statement: string;
  /** 32 hex digits. */
  readonly nonce: string;
  readonly issuedAt: Date;
}

/** What a header says that the server did not make itself; nothing about it is checked yet. */
export interface PresentedSignIn extends Pick<SignInChallenge, 'nonce' | 'issuedAt'> {
  readonly address: Address;
  readonly signature: Hex;
}

/** A proof is at most this long; a contract that is yet to be deployed sends its making along. */
const HEADER_LENGTH_MAX = 16_000;

const text = { type: 'string' } as const;
const members = ['domain', 'address', 'uri', 'version', 'chainId', 'type', 'nonce', 'issuedAt'];
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: Object.fromEntries(
    [...members, 'statement', 'expirationTime', 'signature'].map((name) => [name, text]),
  ),
  required: [...members, 'signature'],
};

/**
 * The value of `PAYMENT-REQUIRED` that asks for a signature and for no money: nothing to accept, and
 * the extension's declaration (x402 extension `sign-in-with-x`, "PaymentRequired").
 */
export function encodeSignInRequired(
  { domain, uri, chainId, statement, nonce, issuedAt }: SignInChallenge,
  { resource, error }: { readonly resource: Resource; readonly error: string },
): string {
  return encodeJson({
    x402Version: 2,
    error,
    resource: { ...resource },
    accepts: [],
    extensions: {
      [SIGN_IN_WITH_X]: {
        info: {
          domain,
          uri,
          version: '1',
          nonce,
          issuedAt: issuedAt.toISOString(),
          expirationTime: signInEnd(issuedAt).toISOString(),
          statement,
          resources: [uri],
        },
        supportedChains: [{ chainId: network(chainId), type: 'eip191' }],
        schema: SCHEMA,
      },
    },
  });
}

export function signInEnd(issuedAt: Date): Date {
  return new Date(issuedAt.getTime() + SIGN_IN_SECONDS * 1000);
}

/** The rest of what a client echoes is not read: the server makes the message anew. */
const headerSchema = z.object({
  address: z.string(),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  issuedAt: z.iso.datetime(),
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2})+$/),
});

/** Reads `SIGN-IN-WITH-X`: canonical base64 of a JSON object; undefined for anything else. */
export function decodeSignIn(header: string): PresentedSignIn | undefined {
  if (header.length > HEADER_LENGTH_MAX) return undefined;
  const decoded = decodeCanonicalBase64(header);
  const { data } = headerSchema.safeParse(
    decoded === undefined ? undefined : parseJsonObject(decoded),
  );
  const address = parseAddress(data?.address ?? '');
  if (!data || !address) return undefined;
  const issuedAt = new Date(data.issuedAt);
  return { address, nonce: data.nonce, issuedAt, signature: data.signature.toLowerCase() as Hex };
}
