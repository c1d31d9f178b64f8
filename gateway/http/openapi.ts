/**
 * The interface as an OpenAPI 3.1 document. It is made from what the service runs on: the schemas
 * that check requests and answers, and the closed list of refusals. Pure: no setting changes it,
 * so the served document and the committed `docs/openapi.json` are the same.
 */
import type { RefusalCode } from '../domain/refusal.js';
import { errorReplies, HEADERS, headers, type ErrorReply } from './openapi-replies.js';
import { componentSchemas, usageParameters, type Json } from './openapi-schemas.js';

/** The interface's version (service specification, Versioning), not the program's. */
const INTERFACE_VERSION = '2.0.0';

/** Builds the document (OpenAPI 3.1.0; https://spec.openapis.org/oas/v3.1.0). */
export function openApiDocument(): Json {
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/', description: 'Where this document was read' }],
    security: [{ bearer: [] }],
    tags: [
      { name: 'search', description: 'Search the web by keywords' },
      { name: 'account', description: 'What an account has and used, and more credits' },
      { name: 'service', description: 'The service itself: this document, and how it does' },
    ],
    paths: {
      '/search': { post: searchOperation() },
      '/account': { get: accountOperation() },
      '/account/usage': { get: usageOperation() },
      '/account/credits': { post: creditsOperation() },
      '/openapi.json': { get: documentOperation() },
      '/livez': { get: liveOperation() },
      '/readyz': { get: readyOperation() },
    },
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      parameters: { PaymentSignature: PAYMENT_SIGNATURE, PaymentV1: PAYMENT_V1 },
      securitySchemes: { bearer: BEARER },
    },
  };
}

/** The document as bytes: what is served and what is committed. */
export function openApiText(): string {
  return `${JSON.stringify(openApiDocument(), null, 2)}\n`;
}

const INFO: Json = {
  title: 'search402',
  version: INTERFACE_VERSION,
  summary: 'Keyword web search, with an API key or paid per search over x402',
  description:
    'Send a few keywords, get ranked pages. With an API key a search costs one credit. Without ' +
    'one, the gateway sells the search: it answers 402 with a quote in `PAYMENT-REQUIRED`; sign ' +
    'it and send the same request again with `PAYMENT-SIGNATURE`; the 200 carries a receipt in ' +
    '`PAYMENT-RESPONSE`. A search that fails costs nothing. The face that takes keys only ' +
    'answers 401 where the gateway answers with a quote. Any path that is not listed here ' +
    'answers 404 with an ErrorResponse.',
  license: { name: 'MIT', identifier: 'MIT' },
};

/** HTTP bearer (RFC 6750): an API key of the console. */
const BEARER: Json = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API key, `s402_live_` and 33 letters and digits.',
};

/** The one header of a payment; who sends a key for a search must not send it. */
const PAYMENT_SIGNATURE: Json = {
  name: 'PAYMENT-SIGNATURE',
  in: 'header',
  required: false,
  description:
    'x402 version 2: base64 of the JSON payment, an EIP-3009 authorization over exactly the ' +
    'quoted amount. After a 503 send the same value again, never a new one.',
  schema: { type: 'string' },
};

const PAYMENT_V1: Json = {
  name: 'X-PAYMENT',
  in: 'header',
  required: false,
  deprecated: true,
  description:
    'x402 version 1: base64 of the JSON payment. Looked at only where the operator has turned ' +
    'version 1 on; any other service answers as if there were no payment.',
  schema: { type: 'string' },
};

const parameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

function json(name: string): Json {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

function body(name: string): Json {
  return { required: true, content: json(name) };
}

function searchOperation(): Json {
  return {
    operationId: 'search',
    tags: ['search'],
    summary: 'Searches the web and returns relevant content',
    description:
      'Literal search: exact words, quoted phrases, word order. Send a key, or a payment, or ' +
      'neither to be quoted a price.',
    security: [{ bearer: [] }, {}],
    parameters: [parameter('PaymentSignature'), parameter('PaymentV1')],
    requestBody: body('SearchRequest'),
    responses: {
      '200': {
        description: 'The pages found.',
        headers: headers('PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE', 'RateLimit', 'RateLimit-Policy'),
        content: json('SearchResponse'),
      },
      ...withChallengeV1(errorReplies()),
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

const RATED = () => headers('RateLimit', 'RateLimit-Policy');

function accountOperation(): Json {
  return {
    operationId: 'readAccount',
    tags: ['account'],
    summary: 'The account of a key, its credits and the key itself',
    responses: {
      '200': { description: 'The account.', headers: RATED(), content: json('Account') },
      ...errorReplies(KEYED),
    },
  };
}

function usageOperation(): Json {
  return {
    operationId: 'readUsage',
    tags: ['account'],
    summary: 'Searches and credits of the account, in groups',
    parameters: usageParameters(),
    responses: {
      '200': {
        description: 'The usage.',
        headers: RATED(),
        content: { ...json('Usage'), 'text/csv': { schema: { type: 'string' } } },
      },
      ...errorReplies([...KEYED, 'unsupported_parameter', 'invalid_parameter']),
    },
  };
}

function creditsOperation(): Json {
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
      ...errorReplies([
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
        'chain_unavailable',
        'settlement_pending',
      ]),
    },
  };
}

/** Anyone may ask, and nothing is counted. */
function openOperation(operation: Json & { readonly responses: Json }): Json {
  const responses = { ...operation.responses, ...errorReplies(['malformed_request']) };
  return { ...operation, tags: ['service'], security: [], responses };
}

const stateOf = (...names: string[]): Json => ({
  'application/json': {
    schema: {
      type: 'object',
      properties: { status: { enum: names } },
      required: ['status'],
      additionalProperties: false,
    },
  },
});

function documentOperation(): Json {
  return openOperation({
    operationId: 'readOpenApi',
    summary: 'This document',
    responses: {
      '200': {
        description: 'OpenAPI 3.1.',
        headers: headers(),
        content: { 'application/json': { schema: { type: 'object' } } },
      },
    },
  });
}

function liveOperation(): Json {
  return openOperation({
    operationId: 'readLiveness',
    summary: 'Whether the process runs',
    responses: {
      '200': { description: 'It runs.', headers: headers(), content: stateOf('live') },
    },
  });
}

function readyOperation(): Json {
  return openOperation({
    operationId: 'readReadiness',
    summary: 'Whether searches can be answered now',
    responses: {
      '200': { description: 'They can.', headers: headers(), content: stateOf('ready') },
      '503': { description: 'Not now.', headers: headers(), content: stateOf('not ready') },
    },
  });
}
