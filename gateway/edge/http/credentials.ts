import type { IncomingMessage } from 'node:http';
import { refuse, type Refusal } from '../../ground/domain/refusal.js';
import type { Credentials } from '../../search/caller.js';

/** x402 version 2's request header, and version 1's. */
const PAYMENT_HEADERS = new Map([
  ['payment-signature', 2],
  ['x-payment', 1],
] as const);

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): 1 to 255 visible ASCII
 * characters, taken as they are. Undefined when there is none.
 */
export function readIdempotencyKey(request: IncomingMessage): string | Refusal | undefined {
  // Node joins repeated headers with a comma and a space, which no key has.
  const value = request.headers['idempotency-key'];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) return value;
  return refuse(
    'malformed_request',
    'Send one Idempotency-Key of 1 to 255 visible ASCII characters.',
  );
}

export interface CredentialRules {
  /** Whether version 1 of x402 is spoken; its header is ignored otherwise. */
  readonly x402V1: boolean;
}

/**
 * Reads who is asking out of the headers. Works on the raw list: Node joins or drops repeated
 * headers, and a repeated credential must be refused and never guessed at.
 */
export function readCredentials(
  request: IncomingMessage,
  rules: CredentialRules,
): Credentials | Refusal {
  const found = { bearer: [] as string[], payment: [] as { version: 1 | 2; value: string }[] };
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index]?.toLowerCase() ?? '';
    const value = request.rawHeaders[index + 1] ?? '';
    if (name === 'authorization') found.bearer.push(value);
    const version = PAYMENT_HEADERS.get(name as 'x-payment');
    if (version === 2 || (version === 1 && rules.x402V1)) found.payment.push({ version, value });
  }
  if (found.payment.length > 1) {
    return refuse('malformed_payment', 'Send exactly one payment header.');
  }
  if (found.bearer.length > 1) {
    return refuse('malformed_request', 'Send exactly one Authorization header.');
  }
  const [payment] = found.payment;
  const [authorization] = found.bearer;
  if (payment && authorization !== undefined) {
    return refuse(
      'ambiguous_credentials',
      'Send an API key or a payment, not both: a search is charged once.',
    );
  }
  if (authorization !== undefined) return { kind: 'bearer', authorization };
  if (payment) return { kind: 'payment', ...payment };
  return { kind: 'none' };
}
