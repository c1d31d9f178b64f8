/** The operations on the account of a key. */
import type { RefusalCode } from '../../ground/domain/refusal.js';
import { body, json, parameter, rated } from './openapi-parts.js';
import { errorReplies, headers, type ErrorReply } from './openapi-replies.js';
import { usageParameters, type Json } from './openapi-schemas.js';

/** What any request with a key can be refused with. */
const KEYED: readonly RefusalCode[] = [
  'malformed_request',
  'missing_api_key',
  'invalid_api_key',
  'account_suspended',
  'method_not_allowed',
  'request_timeout',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];

export function accountOperation(): Json {
  return {
    operationId: 'readAccount',
    tags: ['account'],
    summary: 'The account of a key, its credits and the key itself',
    responses: {
      '200': { description: 'The account.', headers: rated(), content: json('Account') },
      ...errorReplies(KEYED),
    },
  };
}

export function usageOperation(): Json {
  return {
    operationId: 'readUsage',
    tags: ['account'],
    summary: 'Searches and credits of the account, in groups',
    parameters: usageParameters(),
    responses: {
      '200': {
        description: 'The usage.',
        headers: rated(),
        content: { ...json('Usage'), 'text/csv': { schema: { type: 'string' } } },
      },
      ...errorReplies([...KEYED, 'unsupported_parameter', 'invalid_parameter']),
    },
  };
}

export function creditsOperation(): Json {
  return {
    operationId: 'buyCredits',
    tags: ['account'],
    summary: 'Buys credits for the account of a key with one payment',
    description:
      'Without `PAYMENT-SIGNATURE` the answer is a 402 with a quote for the amount. The credits ' +
      'are there when the 200 is; the same payment sent again adds nothing.',
    parameters: [parameter('PaymentSignature')],
    requestBody: body('TopUpRequest'),
    responses: {
      '200': {
        description: 'The credits were added.',
        headers: headers('PAYMENT-RESPONSE', 'RateLimit', 'RateLimit-Policy'),
        content: json('TopUp'),
      },
      ...withRateOfBody(
        errorReplies([
          ...KEYED,
          'malformed_payment',
          'payment_required',
          'payment_invalid',
          'authorization_bound_to_other_request',
          'settlement_failed',
          'payment_identifier_conflict',
          'payload_too_large',
          'unsupported_media_type',
          'unsupported_parameter',
          'invalid_parameter',
          'payments_unavailable',
          'chain_unavailable',
          'contract_payer_deferred',
          'settlement_pending',
        ]),
      ),
    },
  };
}

/** Replies to a body that cannot be used, where it is read after the key was counted. */
function withRateOfBody(
  replies: Readonly<Record<string, ErrorReply>>,
): Readonly<Record<string, ErrorReply>> {
  const ofBody = ['400', '408', '413', '415'];
  return Object.fromEntries(
    Object.entries(replies).map(([status, reply]) => [
      status,
      ofBody.includes(status) ? { ...reply, headers: { ...reply.headers, ...rated() } } : reply,
    ]),
  );
}
