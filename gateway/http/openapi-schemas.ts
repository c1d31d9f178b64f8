import { z } from 'zod';
import { USAGE_DIMENSIONS } from '../accounts/usage/report.js';
import { PLANS, type Plan } from '../domain/plan.js';
import { REFUSALS, type RefusalCode } from '../domain/refusal.js';
import { QUERY_WORDS_MAX } from '../../search-core/contract.js';
import { searchResponseSchema } from '../search/answer.js';
import { searchRequestSchema } from '../search/request.js';

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

const count = () => z.int().min(0);

const accountSchema = z.strictObject({
  account: z.strictObject({
    id: z.string(),
    name: z.string(),
    plan: z.enum(Object.keys(PLANS) as Plan[]),
    ratePerSecond: z.number(),
  }),
  credits: z.strictObject({ granted: count(), available: count(), held: count(), spent: count() }),
  key: z.strictObject({
    id: z.string(),
    name: z.string(),
    ratePerSecond: z.number().nullable(),
    monthlyBudget: z.number().nullable(),
    expiresAt: z.iso.datetime().nullable(),
  }),
});

const usageRowSchema = z.strictObject({
  name: z.string(),
  searches: count(),
  refused: count(),
  credits: count(),
});

const usageSchema = z.strictObject({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  by: z.enum(USAGE_DIMENSIONS),
  usage: z.array(usageRowSchema),
});

const topUpRequestSchema = z.strictObject({
  amountUsd: z.string().regex(/^[0-9]{1,15}(?:\.[0-9]{1,6})?$/),
});

const topUpSchema = z.strictObject({
  requestId: z.string(),
  credits: z.int().min(1),
  transaction: z.string(),
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
    .add(maxResults, { description: 'Number of results to return at the most.' })
    .add(maxDescriptionLength, {
      description: 'Characters (UTF-16 code units) in each description at the most.',
    })
    .add(topUpRequestSchema, { id: 'TopUpRequest' })
    .add(topUpRequestSchema.shape.amountUsd, {
      description: 'Dollars to pay, 0.01 to 10000, a multiple of the price of one credit.',
      examples: ['5'],
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
    .add(results, { description: 'The pages found, the best first.' })
    .add(results.element, { id: 'SearchResultItem' })
    .add(results.element.shape.description, {
      description: 'Text of the page, at most `maxDescriptionLength` characters.',
    })
    .add(searchMetadata, { id: 'SearchMetadata' })
    .add(searchMetadata.shape.executionTime, { description: 'Seconds that the search took.' })
    .add(totalResults, { description: 'Number of results returned.' })
    .add(errorResponseSchema, { id: 'ErrorResponse' })
    .add(errorResponseSchema.shape.status, { description: 'The HTTP status code.' })
    .add(accountSchema, { id: 'Account' })
    .add(accountSchema.shape.credits, {
      description: 'One credit is one search. granted = available + held + spent.',
    })
    .add(usageSchema, { id: 'Usage' })
    .add(usageRowSchema, { id: 'UsageRow' })
    .add(usageRowSchema.shape.name, {
      description: 'The hour or day (ISO 8601), the key, member, outcome or latency class.',
    })
    .add(usageRowSchema.shape.refused, { description: 'Searches that failed; they cost nothing.' })
    .add(topUpSchema, { id: 'TopUp' })
    .add(topUpSchema.shape.transaction, { description: 'Hash of the transfer.' });
}

/** `components.schemas`: JSON Schema 2020-12, as OpenAPI 3.1 takes it (Schema Object, 4.8.24). */
export function componentSchemas(): Json {
  return { ...toSchemas(requestSchemas(), 'input'), ...toSchemas(replySchemas(), 'output') };
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
