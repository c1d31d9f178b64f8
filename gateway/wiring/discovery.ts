import { z } from 'zod';
import { packRequestSchema, packSchema } from '../edge/http/pack-wire.js';
import { searchResponseSchema } from '../search/answer.js';
import { searchRequestSchema } from '../search/request.js';
import type { Discovery } from '../money/x402/discovery.js';

const ANYWHERE = ['$schema', 'format'];
/** Bounds bind the caller; of the answer its shape is enough. */
const BOUNDS = ['required', 'additionalProperties', 'minimum', 'maximum', 'pattern'];

/** How `POST /search` is called and what it answers, for indexes of x402 services. */
export const SEARCH_DISCOVERY: Discovery = {
  input: { query: 'postgres jsonb index', maxResults: 10, maxDescriptionLength: 3000 },
  inputSchema: without(ANYWHERE, z.toJSONSchema(searchRequestSchema, { io: 'input' })),
  output: {
    requestId: '6f2b1c9e-4b0a-4d35-9a43-0d3f3c3a7f10',
    result: {
      results: [
        { title: 'JSON types', url: 'https://pages.example/jsonb', description: 'A GIN index …' },
      ],
      searchMetadata: { executionTime: 0.012 },
      totalResults: 1,
    },
  },
  outputSchema: without([...ANYWHERE, ...BOUNDS], z.toJSONSchema(searchResponseSchema)),
};

/**
 * How `POST /packs` is called and what it answers. A pack is what an index should list where its
 * facilitator takes no payment as small as one search (docs/guides/being-listed.md).
 */
export const PACK_DISCOVERY: Discovery = {
  input: { searches: 1000 },
  inputSchema: without(ANYWHERE, z.toJSONSchema(packRequestSchema, { io: 'input' })),
  output: {
    requestId: '6f2b1c9e-4b0a-4d35-9a43-0d3f3c3a7f10',
    key: 's402_live_…',
    pack: {
      id: '1b0f6b0e-7f0e-4c1d-8a55-5d0d9a2f6c11',
      searches: 1000,
      amountUsd: '0.05',
      expiresAt: '2027-11-22T00:00:00.000Z',
    },
  },
  outputSchema: without([...ANYWHERE, ...BOUNDS], z.toJSONSchema(packSchema)),
};

/**
 * The schema without what its reader can do without: it travels in a header, and proxies keep about
 * 4,000 bytes of headers unless they are told. The dialect is named by the whole around it.
 */
function without(names: readonly string[], schema: object): Readonly<Record<string, unknown>> {
  const kept = (name: string, value: unknown) => (names.includes(name) ? undefined : value);
  return JSON.parse(JSON.stringify(schema, kept)) as Readonly<Record<string, unknown>>;
}
