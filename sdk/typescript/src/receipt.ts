import { Search402Error } from './errors.js';
import type { Hex } from './hex.js';
import { decodeJson, isObject } from './payment/base64.js';
import type { SearchParams, SearchResponse } from './types.js';

/** A receipt that does not prove what it was held against. */
export class ReceiptError extends Search402Error {
  override readonly name = 'ReceiptError';
}

/** What a service states in a signed receipt (x402 extension `offer-receipt`, and more). */
export interface ReceiptClaims {
  /** CAIP-2, such as `eip155:8453`. */
  readonly network: string;
  readonly resourceUrl: string;
  readonly payer: string;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** The transfer; empty where a channel's voucher paid. */
  readonly transaction: string;
  readonly channelId?: string;
  /** Atomic units, as a decimal number. */
  readonly amount?: string;
  /** SHA-256 over method, path and the request with its defaults. */
  readonly requestHash?: string;
  /** SHA-256 over the reply's bytes. */
  readonly resultHash?: string;
  /** Which state of the index was searched. */
  readonly indexGeneration?: number;
}

/** What a receipt is held against; what is absent is not compared. */
export interface ReceiptExpectations {
  /** The reply: as it came, or parsed. */
  readonly result?: string | SearchResponse | undefined;
  readonly request?: SearchParams | undefined;
  readonly payer?: string | undefined;
  /**
   * The service's DID document, as `/.well-known/did.json` serves it: it says whose the key is. Get
   * it when you pay, from the service itself, and keep it with your receipts.
   */
  readonly didDocument?: unknown;
}

/** A receipt whose signature is good and that fits what was expected. */
export interface VerifiedReceipt {
  readonly claims: ReceiptClaims;
  /** The key that signed, as a DID URL. */
  readonly keyId: string;
  /** Whether the document that was given says that this key signs for the service. */
  readonly isServicesKey: boolean;
}

interface Jws {
  readonly keyId: string;
  readonly x: string;
  readonly claims: ReceiptClaims;
  readonly signed: string;
  readonly signature: string;
}

const fromBase64url = (text: string) => {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
};

function parsePart(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(fromBase64url(text ?? '')));
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new ReceiptError('this is not a signed receipt');
}

/** The signed receipt in a `PAYMENT-RESPONSE` header, if there is one. */
export function receiptIn(headers: Headers): string | undefined {
  const header = headers.get('payment-response');
  return header === null ? undefined : findJws(decodeJson(header));
}

/** Looks for the signature in whatever holds a receipt: the object, its extension, the reply. */
function findJws(value: unknown): string | undefined {
  if (typeof value === 'string') return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(value) ? value : undefined;
  if (!isObject(value)) return undefined;
  if (value.format === 'jws') return findJws(value.signature);
  const extensions = isObject(value.extensions) ? value.extensions['offer-receipt'] : undefined;
  const info = isObject(extensions) ? extensions.info : undefined;
  return findJws(isObject(info) ? info.receipt : value.receipt);
}

function readJws(receipt: unknown): Jws {
  const text = typeof receipt === 'string' ? receipt.trim() : receipt;
  const jws = findJws(text) ?? findJws(typeof text === 'string' ? decodeJson(text) : undefined);
  const [header, payload, signature = ''] = jws?.split('.') ?? [];
  const { alg, kid, jwk } = parsePart(header);
  const claims = parsePart(payload);
  const isOurs = alg === 'EdDSA' && typeof kid === 'string' && isObject(jwk);
  if (!isOurs || jwk.crv !== 'Ed25519' || typeof jwk.x !== 'string') {
    throw new ReceiptError('this receipt is signed in a way that this package does not know');
  }
  if (claims.version !== 1 || typeof claims.resourceUrl !== 'string') {
    throw new ReceiptError('this receipt is of a version that this package does not know');
  }
  const signed = `${header}.${payload}`;
  return { keyId: kid, x: jwk.x, claims: claims as unknown as ReceiptClaims, signed, signature };
}

async function sha256(text: string): Promise<Hex> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `0x${hex.join('')}`;
}

/** The bytes that a service would have sent: a reply that was printed anew is the same reply. */
function compact(value: unknown): string {
  if (!isObject(value)) return '';
  const { requestId, result } = value;
  return JSON.stringify({ requestId, result });
}

async function holdsResult(hash: string, result: string | SearchResponse): Promise<boolean> {
  if (typeof result !== 'string') return (await sha256(compact(result))) === hash;
  if ((await sha256(result)) === hash) return true;
  try {
    return (await sha256(compact(JSON.parse(result)))) === hash;
  } catch {
    return false;
  }
}

/** As the service computes it (its `RequestBinding`). */
async function requestHash({ query, maxResults, maxDescriptionLength }: SearchParams) {
  const canonical = JSON.stringify([query, maxResults ?? 10, maxDescriptionLength ?? 3000]);
  return await sha256(`POST\n/search\n${canonical}`);
}

/** Whether a DID document of the receipt's service names the key that signed. */
function isNamedBy(document: unknown, { keyId, x, claims }: Jws): boolean {
  if (!isObject(document)) return false;
  const host = new URL(claims.resourceUrl).host.replaceAll(':', '%3A');
  const methods: readonly unknown[] = Array.isArray(document.verificationMethod)
    ? document.verificationMethod
    : [];
  const names = methods.some(
    (one) =>
      isObject(one) &&
      one.id === keyId &&
      isObject(one.publicKeyJwk) &&
      one.publicKeyJwk.crv === 'Ed25519' &&
      one.publicKeyJwk.x === x,
  );
  return document.id === `did:web:${host}` && names;
}

/**
 * Checks a signed receipt, without any network: the signature, and what you expect of it. That the
 * key is the service's is only known with its DID document: see `isServicesKey`.
 *
 * @param receipt the signed receipt as {@link SearchOutcome.receipt} gives it, a `PAYMENT-RESPONSE`
 *   header, or an object that holds one of them
 * @throws {ReceiptError} when it does not prove what is expected
 */
export async function verifyReceipt(
  receipt: unknown,
  expected: ReceiptExpectations = {},
): Promise<VerifiedReceipt> {
  const jws = readJws(receipt);
  const { claims, keyId } = jws;
  const key = await crypto.subtle.importKey(
    'jwk',
    { kty: 'OKP', crv: 'Ed25519', x: jws.x },
    { name: 'Ed25519' },
    false,
    ['verify'],
  );
  const signature = fromBase64url(jws.signature);
  const signed = new TextEncoder().encode(jws.signed);
  if (!(await crypto.subtle.verify({ name: 'Ed25519' }, key, signature, signed))) {
    throw new ReceiptError('the signature is wrong: this receipt was changed');
  }
  const { result, request, payer, didDocument } = expected;
  if (result !== undefined && !(await holdsResult(claims.resultHash ?? '', result))) {
    throw new ReceiptError('the receipt is for another result, or the result was changed');
  }
  if (request !== undefined && (await requestHash(request)) !== claims.requestHash) {
    throw new ReceiptError('the receipt is for another search');
  }
  if (payer !== undefined && payer.toLowerCase() !== claims.payer.toLowerCase()) {
    throw new ReceiptError(`the receipt is for another payer: ${claims.payer}`);
  }
  const isServicesKey = isNamedBy(didDocument, jws);
  if (didDocument !== undefined && !isServicesKey) {
    throw new ReceiptError(`the service’s DID document does not name the key ${keyId}`);
  }
  return { claims, keyId, isServicesKey };
}
