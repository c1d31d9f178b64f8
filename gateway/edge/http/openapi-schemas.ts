import { z } from 'zod';
import {
  accountSchema,
  topUpRequestSchema,
  topUpSchema,
  usageQuerySchema,
  usageRowSchema,
  usageSchema,
} from './account-wire.js';
import { packListSchema, packRequestSchema, packSchema, revokedPackSchema } from './pack-wire.js';
import { REFUSALS, type RefusalCode } from '../../ground/domain/refusal.js';
import { QUERY_WORDS_MAX } from '../../../search-core/contract.js';
import { searchResponseSchema } from '../../search/answer.js';
import { searchRequestSchema } from '../../search/request.js';

/** A JSON Schema or another part of the document: plain JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** What a schema carries into the document beside its shape. `id` makes it a component. */
interface Notes extends Record<string, unknown> {
  readonly id?: string;
  readonly description?: string;
}

/** Refusal codes in the list's order. */
export const CODES = Object.keys(REFUSALS) as RefusalCode[];

/** The specification's ErrorResponse, closed; `code` is one of the closed list. */
const errorResponseSchema = z.strictObject({
  title: z.string(),
  status: z.int().min(100).max(599),
  detail: z.string(),
  requestId: z.string(),
  code: z.enum(CODES),
});

/** The challenge of x402 version 1, which its clients read from the body of the 402. */
const paymentRequiredV1Schema = z.strictObject({
  x402Version: z.literal(1),
  error: z.string(),
  accepts: z.array(
    z.strictObject({
      scheme: z.literal('exact'),
      network: z.string(),
      maxAmountRequired: z.string(),
      resource: z.string(),
      description: z.string(),
      mimeType: z.string(),
      outputSchema: z.strictObject({}),
      payTo: z.string(),
      maxTimeoutSeconds: z.int().min(1),
      asset: z.string(),
      extra: z.strictObject({ name: z.string(), version: z.string() }),
    }),
  ),
});

const hash = () => z.string().regex(/^0x[0-9a-f]{64}$/);

/** What the payer of an authorization is told about it. */
const paymentReportSchema = z.strictObject({
  payer: z.string().regex(/^0x[0-9a-f]{40}$/),
  nonce: hash(),
  status: z.enum(['unknown', 'reserved', 'pending', 'settled', 'failed', 'released']),
  transaction: hash().optional(),
  mayBeCharged: z.boolean(),
  replayable: z.boolean(),
  authorizationUsed: z.boolean().optional(),
  chainTime: z.int().min(0).optional(),
});

/** The bound on words as a pattern: a refinement has no form in JSON Schema. */
const WORDS_PATTERN = `^\\s*\\S+(?:\\s+\\S+){0,${QUERY_WORDS_MAX - 1}}\\s*$`;

/** The bodies of requests, with the notes that the document shows beside them. */
function requestSchemas() {
  const { query, maxResults, maxDescriptionLength } = searchRequestSchema.shape;
  return z
    .registry<Notes>()
    .add(searchRequestSchema, { id: 'SearchRequest' })
    .add(query, {
      description: `The search in keyword form: 1 to ${QUERY_WORDS_MAX} words, separated by white space.`,
      pattern: WORDS_PATTERN,
      examples: ['lighthouse keeper logbook'],
    })
    .add(maxResults, { description: 'Maximum number of results to return.' })
    .add(maxDescriptionLength, {
      description: 'Maximum length of each description in characters (UTF-16 code units).',
    })
    .add(topUpRequestSchema, { id: 'TopUpRequest' })
    .add(topUpRequestSchema.shape.amountUsd, {
      description: 'Dollars to pay, 0.01 to 10000, a multiple of the price of one credit.',
      examples: ['5'],
    })
    .add(packRequestSchema, { id: 'PackRequest' })
    .add(packRequestSchema.shape.searches, {
      description: 'A pack on sale, by its number of searches; the first one if left out.',
      examples: [1000],
    });
}

/** The bodies of replies, each under the specification's name. */
function replySchemas() {
  const { result } = searchResponseSchema.shape;
  const { results, searchMetadata, totalResults } = result.shape;
  return z
    .registry<Notes>()
    .add(searchResponseSchema, { id: 'SearchResponse' })
    .add(result, { id: 'SearchResult' })
    .add(results, { description: 'The pages found, best first.' })
    .add(results.element, { id: 'SearchResultItem' })
    .add(results.element.shape.description, {
      description: 'Text of the page, at most `maxDescriptionLength` characters.',
    })
    .add(searchMetadata, { id: 'SearchMetadata' })
    .add(searchMetadata.shape.executionTime, { description: 'Duration of the search in seconds.' })
    .add(totalResults, { description: 'Number of results returned.' })
    .add(errorResponseSchema, { id: 'ErrorResponse' })
    .add(errorResponseSchema.shape.status, { description: 'The HTTP status code.' })
    .add(paymentRequiredV1Schema, {
      id: 'PaymentRequiredV1',
      description: 'The x402 version 1 challenge, if the operator has turned it on.',
    })
    .add(paymentReportSchema, { id: 'PaymentReport' })
    .add(paymentReportSchema.shape.mayBeCharged, {
      description:
        'False only if our records and the chain prove that it was not and will not be charged.',
    })
    .add(paymentReportSchema.shape.replayable, {
      description: 'Whether `/payments/{nonce}/reply` has the reply now.',
    })
    .add(paymentReportSchema.shape.authorizationUsed, {
      description: 'What the chain’s safe head says. Absent while it can’t be reached.',
    })
    .add(paymentReportSchema.shape.chainTime, {
      description:
        'Unix time in seconds of that block. An authorization that is unused at or after its ' +
        '`validBefore` was not charged and cannot be any more.',
    })
    .add(accountSchema, { id: 'Account' })
    .add(accountSchema.shape.credits, {
      description: 'One credit is one search. granted = available + held + spent.',
    })
    .add(usageSchema, { id: 'Usage' })
    .add(usageRowSchema, { id: 'UsageRow' })
    .add(usageRowSchema.shape.name, {
      description: 'The hour or day (ISO 8601), the key, member, outcome or latency class.',
    })
    .add(usageRowSchema.shape.refused, { description: 'Failed searches. They cost nothing.' })
    .add(topUpSchema, { id: 'TopUp' })
    .add(topUpSchema.shape.transaction, { description: 'Hash of the transfer.' })
    .add(packSchema, { id: 'Pack' })
    .add(packSchema.shape.key, { description: 'An API key of its own; send it as a bearer.' })
    .add(revokedPackSchema, { id: 'RevokedPack' })
    .add(packListSchema, { id: 'PackList' })
    .add(packListSchema.shape.packs, {
      description: '`searches` counts top-ups; `key` shows the last four characters.',
    });
}

/** `components.schemas`: JSON Schema 2020-12, as OpenAPI 3.1 takes it (Schema Object, 4.8.24). */
export function componentSchemas(): Json {
  return { ...toSchemas(requestSchemas(), 'input'), ...toSchemas(replySchemas(), 'output') };
}

const USAGE_PARAMETERS: Readonly<Record<keyof typeof usageQuerySchema.shape, string>> = {
  from: 'Start: a day or a time in UTC. Default: 30 days before the end.',
  to: 'End: at most 400 days after the start. Default: now.',
  by: 'What to group by.',
  format: 'The format of the reply.',
};

/** The query parameters of `GET /account/usage` (Parameter Object, 4.8.12). */
export function usageParameters(): readonly Json[] {
  const { properties = {} } = z.toJSONSchema(usageQuerySchema, { io: 'input' });
  return Object.entries(USAGE_PARAMETERS).map(([name, description]) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: properties[name],
  }));
}

function toSchemas(registry: z.core.$ZodRegistry<Notes>, io: 'input' | 'output'): Json {
  const uri = (id: string) => `#/components/schemas/${id}`;
  const { schemas } = z.toJSONSchema(registry, { io, metadata: registry, uri });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [
      name,
      schema,
    ]),
  );
}
