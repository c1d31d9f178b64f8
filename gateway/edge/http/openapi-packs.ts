/** The operations on packs: searches bought at once, without an account. */
import type { RefusalCode } from '../../ground/domain/refusal.js';
import { body, json, parameter, rated } from './openapi-parts.js';
import { errorReplies, headers } from './openapi-replies.js';
import type { Json } from './openapi-schemas.js';

/** What any request here can be refused with. */
const ANY: readonly RefusalCode[] = [
  'malformed_request',
  'not_found',
  'request_timeout',
  'rate_limited',
  'internal_error',
  'service_unavailable',
  'chain_unavailable',
];

export function buyPackOperation(): Json {
  return {
    operationId: 'buyPack',
    tags: ['packs'],
    summary: 'Buys many searches with one payment, and a key for them, without an account',
    description:
      'Without `PAYMENT-SIGNATURE` the answer is a 402 with a quote. The same payment sent again ' +
      'gets the same bytes until the key expires or is revoked; it must carry what the quote says ' +
      'in `extra`, its ticket included. The keys-only port answers 404.',
    security: [{}],
    parameters: [parameter('PaymentSignature')],
    requestBody: body('PackRequest'),
    responses: {
      '200': {
        description: 'The key and what it is good for.',
        headers: headers('PAYMENT-RESPONSE', 'RateLimit', 'RateLimit-Policy'),
        content: json('Pack'),
      },
      ...errorReplies([
        ...ANY,
        'method_not_allowed',
        'malformed_payment',
        'ambiguous_credentials',
        'invalid_api_key',
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
        'contract_payer_deferred',
        'settlement_pending',
      ]),
    },
  };
}

/** What a wallet that asks for its keys can be refused with. */
const ASKED: readonly RefusalCode[] = [...ANY, 'wallet_sign_in_required'];

export function listPacksOperation(): Json {
  return {
    operationId: 'listPacks',
    tags: ['packs'],
    summary: 'The packs that a wallet has paid for; for that wallet only',
    description:
      'Without a good `SIGN-IN-WITH-X` the answer is a 402 whose `PAYMENT-REQUIRED` asks for a ' +
      'signature and for no money (x402 extension `sign-in-with-x`).',
    security: [{}],
    parameters: [parameter('SignInWithX')],
    responses: {
      '200': {
        description: 'The packs, the newest first.',
        headers: rated(),
        content: json('PackList'),
      },
      ...errorReplies(ASKED),
    },
  };
}

export function revokePackOperation(): Json {
  return {
    operationId: 'revokePack',
    tags: ['packs'],
    summary: 'Ends the key of a pack for good; for the wallet that paid only',
    description:
      'The searches that are left are given up. Revoking again changes nothing. Without a good ' +
      '`SIGN-IN-WITH-X` the answer is a 402, as for the list.',
    security: [{}],
    parameters: [parameter('PackId'), parameter('SignInWithX')],
    responses: {
      '200': {
        description: 'The key is refused from now on.',
        headers: rated(),
        content: json('RevokedPack'),
      },
      ...errorReplies([...ASKED, 'method_not_allowed']),
    },
  };
}
