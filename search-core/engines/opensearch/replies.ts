/** The parts of OpenSearch's replies that are used, parsed: what is not there throws. */
import type { Page } from '../../page.js';
import { z } from 'zod';

const HITS = z.object({
  timed_out: z.boolean(),
  hits: z.object({
    hits: z.array(
      z.object({ _source: z.object({ url: z.string(), title: z.string(), text: z.string() }) }),
    ),
  }),
});

/** A `_search`: the pages in order, and whether time ran out. */
export interface Hits {
  readonly pages: readonly Page[];
  readonly isTimedOut: boolean;
}

export function parseHits(body: unknown): Hits {
  const { timed_out: isTimedOut, hits } = HITS.parse(body);
  return { isTimedOut, pages: hits.hits.map(({ _source }) => _source) };
}

const ADDRESSES = z.object({
  hits: z.object({
    hits: z.array(z.object({ _source: z.object({ url: z.string(), order: z.number() }) })),
  }),
});

/** A `_search` for addresses: each page's URL and its place in the order of coming. */
export function parseAddresses(body: unknown): { readonly url: string; readonly order: number }[] {
  return ADDRESSES.parse(body).hits.hits.map(({ _source }) => _source);
}

const FREQUENCIES = z.object({
  term_vectors: z.object({
    body_words: z
      .object({
        field_statistics: z.object({ doc_count: z.number() }),
        terms: z.record(z.string(), z.object({ doc_freq: z.number().default(0) })),
      })
      .optional(),
  }),
});

/** A `_termvectors`: pages in all, and pages with each word, of one shard. */
export function parseFrequencies(body: unknown): {
  readonly pages: number;
  readonly frequencies: ReadonlyMap<string, number>;
} {
  const words = FREQUENCIES.parse(body).term_vectors.body_words;
  const entries = Object.entries(words?.terms ?? {});
  return {
    pages: Math.max(0, words?.field_statistics.doc_count ?? 0),
    frequencies: new Map(entries.map(([term, { doc_freq }]) => [term, doc_freq])),
  };
}

/** What the adapter notes in an index's mapping. */
export interface Notes {
  readonly generation: number;
  /** The `order` of the next page. */
  readonly nextOrder: number;
}

const NOTES = z.object({ generation: z.number(), nextOrder: z.number() });
const MAPPINGS = z.record(
  z.string(),
  z.object({ mappings: z.object({ _meta: NOTES.optional() }) }),
);

/** A `_mapping`: one index, also where its alias was asked for. */
export function parseNotes(body: unknown): Notes {
  const [index] = Object.values(MAPPINGS.parse(body));
  return index?.mappings._meta ?? { generation: 0, nextOrder: 0 };
}

/** The names of the indexes in a description of one index or alias. */
export function parseIndexNames(body: unknown): string[] {
  return Object.keys(z.record(z.string(), z.object({})).parse(body));
}

const MULTIPLE = z.object({ docs: z.array(z.object({ _id: z.string(), found: z.boolean() })) });

/** An `_mget`: the ids that were found. */
export function parseFound(body: unknown): string[] {
  return MULTIPLE.parse(body).docs.flatMap(({ _id, found }) => (found ? [_id] : []));
}

export function parseCount(body: unknown): number {
  return z.object({ count: z.number() }).parse(body).count;
}

const BULK = z.object({
  errors: z.boolean(),
  items: z.array(z.record(z.string(), z.object({ error: z.unknown().optional() }))),
});

/** A `_bulk`: the first item that failed, or undefined. */
export function parseBulkFailure(body: unknown): string | undefined {
  const { errors, items } = BULK.parse(body);
  if (!errors) return undefined;
  const failed = items.flatMap((item) => Object.values(item)).find(({ error }) => error);
  return JSON.stringify(failed?.error ?? 'unknown').slice(0, 500);
}
