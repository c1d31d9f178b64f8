import { REFUSALS, refuse, type RefusalCode } from '../../ground/domain/refusal.js';
import { errorResponse } from './error-reply.js';
import { type Json } from './openapi-schemas.js';

const text = (description: string): Json => ({ description, schema: { type: 'string' } });
const always = (header: Json): Json => ({ ...header, required: true });

/** `components.headers`: every header that a reply may carry and that means something here. */
export const HEADERS = {
  'X-Request-Id': always(text('The id of this request, the same as `requestId` of the body.')),
  'PAYMENT-REQUIRED': text(
    'x402 version 2: base64 of the JSON challenge with price, network, asset and payee. Present ' +
      'where a new payment may be made.',
  ),
  'PAYMENT-RESPONSE': text(
    'x402 version 2: base64 of the JSON receipt, with the transaction or the reason of failure. ' +
      'Present if a payment was settled or its settlement failed.',
  ),
  'X-PAYMENT-RESPONSE': text(
    'x402 version 1: base64 of the JSON receipt, where version 1 was paid with.',
  ),
  'Retry-After': {
    description: 'Whole seconds to wait before you retry.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: text(
    'Requests left (`r`) and seconds until all are free again (`t`), of the key, or of the ' +
      'address where there is none.',
  ),
  'RateLimit-Policy': text(
    'The quota (`q`) in a window of `w` seconds, of the key or the address ' +
      '(draft-ietf-httpapi-ratelimit-headers).',
  ),
  'Index-Generation': {
    description:
      'The generation of the index that was searched, where it is known. While it stands, the same ' +
      'question gives the same `results`, byte for byte.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Unencoded-Digest': text(
    'SHA-256 of this body before any Content-Encoding, as in `sha-256=:…:` ' +
      '(draft-ietf-httpbis-unencoded-digest, for RFC 9530). `Repr-Digest` and `Content-Digest` ' +
      'hash what a compression made of it, another value for each Accept-Encoding; this is the ' +
      'hash of the bytes as stored, and the same whenever this reply is sent again.',
  ),
  Allow: always(text('The methods this path allows (RFC 9110, 10.2.1).')),
  'WWW-Authenticate': always(text('The scheme to use (RFC 9110, 11.6.1).')),
} satisfies Record<string, Json>;

type HeaderName = keyof typeof HEADERS;

/** References to the named headers, for one reply. */
export function headers(...names: HeaderName[]): Json {
  return Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

const RATE = ['RateLimit', 'RateLimit-Policy'] as const;
const HEADERS_OF: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate', ...RATE],
  402: ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'Retry-After', ...RATE],
  403: RATE,
  404: RATE,
  405: ['Allow'],
  409: RATE,
  422: RATE,
  429: ['Retry-After', ...RATE],
  500: RATE,
  502: RATE,
  503: ['Retry-After', ...RATE],
  504: RATE,
};

/** One sentence of example for each code; the real `detail` says what was wrong this time. */
const DETAILS: Readonly<Record<RefusalCode, string>> = {
  malformed_request: 'The body isn’t valid JSON.',
  malformed_payment: 'Send exactly one payment header.',
  ambiguous_credentials: 'Send an API key or a payment, not both: a search is charged once.',
  missing_api_key:
    'Send an API key: "Authorization: Bearer s402_live_…". Keys are made at ' +
    'https://search.example/console/keys.',
  invalid_api_key: 'This API key isn’t valid.',
  invalid_payment_proof: 'Only the payer can ask about a payment.',
  wallet_sign_in_required: 'Only the wallet that paid sees its keys. Sign in with it.',
  payment_required: 'Pay what the PAYMENT-REQUIRED header says, or send an API key.',
  payment_invalid: 'We can’t accept this payment. Sign a new one for the quote in this reply.',
  authorization_bound_to_other_request: 'This payment was first used for another request.',
  settlement_failed: 'The transfer failed and nothing was paid. Sign a new payment.',
  insufficient_credits: 'The account has no credits left.',
  account_suspended: 'The account is suspended. Ask the operator.',
  payer_denied: 'This service takes no payments from this wallet.',
  plan_restricted: 'The plan of this account does not allow this.',
  not_found:
    'Not found. To search, use POST /search. The documentation is at ' +
    'https://search.example/docs.',
  method_not_allowed: 'Use POST for /search.',
  request_timeout: 'The request did not arrive in time.',
  payment_identifier_conflict: 'This payment identifier was used for another request.',
  payload_too_large: 'The body may have at most 16384 bytes.',
  unsupported_media_type: 'Send the header "Content-Type: application/json".',
  unsupported_parameter: 'Unsupported parameter: "prompt".',
  invalid_parameter: 'The parameter "query" is required.',
  idempotency_key_reused: 'This Idempotency-Key was used for another search.',
  rate_limited: 'This key may send 20 of these per second.',
  internal_error: 'Something went wrong on our side and nothing was charged for it.',
  upstream_error: 'The search engine failed to answer. Nothing was charged.',
  service_unavailable: 'The search engine is busy. Nothing was charged.',
  payments_unavailable:
    'Paid searches are unavailable. Send the same payment again later; keys work.',
  chain_unavailable: 'The chain can’t be reached. Send the same payment again.',
  contract_payer_deferred:
    'A payer with code can have one open payment at a time. Try again later.',
  settlement_pending: 'The transfer is on its way. Send the same payment again.',
  idempotency_pending: 'The first search with this Idempotency-Key is still running.',
  upstream_timeout: 'The search took too long. Nothing was charged.',
};

const EXAMPLE_ID = '6f2b1c9e-4b0a-4d35-9a43-0d3f3c3a7f10';

function exampleOf(code: RefusalCode): Json {
  const isWait = REFUSALS[code].status === 429 || REFUSALS[code].status === 503;
  const refusal = refuse(code, DETAILS[code], isWait ? { retryAfterSeconds: 1 } : {});
  return { value: errorResponse(refusal, EXAMPLE_ID) };
}

/** All refusals of one status (Response Object, OpenAPI 3.1, 4.8.17). */
export interface ErrorReply {
  readonly description: string;
  readonly headers: Json;
  readonly content: { readonly 'application/json': { schema: Json; examples: Json } };
}

/** The error replies of one operation, one a status (Responses Object, OpenAPI 3.1, 4.8.16). */
export function errorReplies(codes: readonly RefusalCode[]): Readonly<Record<string, ErrorReply>> {
  const statuses = [...new Set(codes.map((code) => REFUSALS[code].status))];
  return Object.fromEntries(
    statuses.map((status) => [
      String(status),
      errorReply(
        status,
        codes.filter((code) => REFUSALS[code].status === status),
      ),
    ]),
  );
}

function errorReply(status: number, codes: readonly RefusalCode[]): ErrorReply {
  const narrowed = { properties: { status: { const: status }, code: { enum: codes } } };
  return {
    description: `Refused: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    headers: headers(...(HEADERS_OF[status] ?? [])),
    content: {
      'application/json': {
        schema: { allOf: [{ $ref: '#/components/schemas/ErrorResponse' }, narrowed] },
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}
