/** The operations of a search and of the payments for it. */
import type { RefusalCode } from '../../ground/domain/refusal.js';
import { body, json, parameter, rated } from './openapi-parts.js';
import { errorReplies, headers, type ErrorReply } from './openapi-replies.js';
import { CODES, type Json } from './openapi-schemas.js';

/**
 * For indexes of paid services (Agentcash Discovery, 7). The price is the operator's, and the document
 * is the same everywhere: what a search costs now is in the challenge.
 */
const PAYMENT_INFO: Json = {
  price: { mode: 'dynamic', currency: 'USD' },
  protocols: [{ x402: {} }],
};

const ORIGIN = ['Index-Generation', 'Unencoded-Digest'] as const;
const RATE = ['RateLimit', 'RateLimit-Policy'] as const;

export function searchOperation(): Json {
  return {
    operationId: 'search',
    tags: ['search'],
    summary: 'Searches the web and returns relevant content',
    description:
      'Literal search: exact words, quoted phrases, word order. Send a key, or a payment, or ' +
      'neither to be quoted a price.',
    security: [{ bearer: [] }, {}],
    'x-payment-info': PAYMENT_INFO,
    parameters: [
      parameter('PaymentSignature'),
      parameter('PaymentV1'),
      parameter('IdempotencyKey'),
    ],
    requestBody: body('SearchRequest'),
    responses: {
      '200': {
        description: 'The pages found.',
        headers: headers('PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE', ...ORIGIN, ...RATE),
        content: json('SearchResponse'),
      },
      ...withChallengeV1(errorReplies(SEARCH)),
    },
  };
}

/** What a payer’s question can be refused with. */
const ASKED: readonly RefusalCode[] = [
  'malformed_request',
  'invalid_payment_proof',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'rate_limited',
  'internal_error',
  'service_unavailable',
  'chain_unavailable',
];

export function paymentOperation(): Json {
  return {
    operationId: 'readPayment',
    tags: ['search'],
    summary: 'What became of a payment; for its payer only',
    description: 'Only where payments are taken: the keys-only port answers 404.',
    security: [{}],
    parameters: [parameter('PaymentNonce'), parameter('PaymentProof')],
    responses: {
      '200': { description: 'What is known.', headers: rated(), content: json('PaymentReport') },
      ...errorReplies(ASKED),
    },
  };
}

export function paidReplyOperation(): Json {
  return {
    operationId: 'readPaidReply',
    tags: ['search'],
    summary: 'The reply that a settled payment has paid for; for its payer only',
    description: 'The same bytes as the 200 of the paid request. 404 where none is kept.',
    security: [{}],
    parameters: [parameter('PaymentNonce'), parameter('PaymentProof')],
    responses: {
      '200': {
        description: 'The reply.',
        headers: headers('PAYMENT-RESPONSE', ...ORIGIN, ...RATE),
        content: {
          'application/json': {
            schema: {
              anyOf: ['SearchResponse', 'TopUp', 'Pack'].map((name) => ({
                $ref: `#/components/schemas/${name}`,
              })),
            },
          },
        },
      },
      ...errorReplies(ASKED),
    },
  };
}

/** What a question about channels, or a refund, can be refused with. */
const REFUND: readonly RefusalCode[] = [
  'malformed_request',
  'malformed_payment',
  'payment_required',
  'payment_invalid',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'rate_limited',
  'internal_error',
  'service_unavailable',
  'payments_unavailable',
  'settlement_pending',
];

export function channelOperation(): Json {
  return {
    operationId: 'refundChannel',
    tags: ['search'],
    summary: 'What channels are offered, and a refund of what is left in one',
    description:
      'The address for `refund(url)` of x402 clients. Without a payment it answers 402 with the ' +
      'offer; with a refund payload of the scheme `batch-settlement` it gives back what is left in ' +
      'the channel. 404 where channels are off, and on the keys-only port.',
    security: [{}],
    parameters: [parameter('PaymentSignature')],
    responses: {
      '200': {
        description: 'What was given back, in atomic units.',
        headers: headers('PAYMENT-RESPONSE', 'RateLimit', 'RateLimit-Policy'),
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: { refundedUnits: { type: 'string', pattern: '^[0-9]+$' } },
              required: ['refundedUnits'],
              additionalProperties: false,
            },
          },
        },
      },
      ...errorReplies(REFUND),
    },
  };
}

/** Where version 1 is spoken, its challenge is the body of a 402 in the place of ErrorResponse. */
function withChallengeV1(replies: Readonly<Record<string, ErrorReply>>): Json {
  const { 402: refused } = replies;
  if (!refused) throw new Error('a search can be refused with 402');
  const { schema, examples } = refused.content['application/json'];
  const challenge = { $ref: '#/components/schemas/PaymentRequiredV1' };
  const content = { 'application/json': { schema: { anyOf: [schema, challenge] }, examples } };
  const more = headers('X-PAYMENT-RESPONSE');
  return { ...replies, 402: { ...refused, headers: { ...refused.headers, ...more }, content } };
}

/** What a search can be refused with: everything but that its path is not there. */
const SEARCH = CODES.filter((code) => !['not_found', 'wallet_sign_in_required'].includes(code));
