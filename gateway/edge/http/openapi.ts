/**
 * The interface as an OpenAPI 3.1 document. It is made from what the service runs on: the schemas
 * that check requests and answers, and the closed list of refusals. Pure: no setting changes it,
 * so the served document and the committed `docs/openapi.json` are the same.
 */
import { accountOperation, creditsOperation, usageOperation } from './openapi-account.js';
import { buyPackOperation, listPacksOperation, revokePackOperation } from './openapi-packs.js';
import { PARAMETERS } from './openapi-parameters.js';
import { HEADERS } from './openapi-replies.js';
import { componentSchemas, type Json } from './openapi-schemas.js';
import {
  channelOperation,
  paidReplyOperation,
  paymentOperation,
  searchOperation,
} from './openapi-search.js';
import {
  documentOperation,
  liveOperation,
  readyForPaymentsOperation,
  readyOperation,
} from './openapi-service.js';

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
      { name: 'packs', description: 'Many searches for one payment, without an account' },
      { name: 'account', description: 'What an account has and used, and more credits' },
      { name: 'service', description: 'The service itself: this document, and how it does' },
    ],
    paths: {
      '/search': { post: searchOperation() },
      '/payments/{nonce}': { get: paymentOperation() },
      '/payments/{nonce}/reply': { get: paidReplyOperation() },
      '/channels': { get: channelOperation() },
      '/packs': { post: buyPackOperation(), get: listPacksOperation() },
      '/packs/{id}': { delete: revokePackOperation() },
      '/account': { get: accountOperation() },
      '/account/usage': { get: usageOperation() },
      '/account/credits': { post: creditsOperation() },
      '/openapi.json': { get: documentOperation() },
      '/livez': { get: liveOperation() },
      '/readyz': { get: readyOperation() },
      '/readyz/payments': { get: readyForPaymentsOperation() },
    },
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      parameters: PARAMETERS,
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
    '`PAYMENT-RESPONSE`. A search that fails costs nothing. On the keys-only port a missing key ' +
    'gets 401 instead of a quote. Any path that isn’t listed here gets 404 with an ' +
    'ErrorResponse.',
  'x-guidance': 'POST /search with a few keywords; add a payment or a key. A 402 names the price.',
  license: { name: 'MIT', identifier: 'MIT' },
};

/** HTTP bearer (RFC 6750): an API key of the console. */
const BEARER: Json = {
  type: 'http',
  scheme: 'bearer',
  description: 'An API key, `s402_live_` and 33 letters and digits.',
};
