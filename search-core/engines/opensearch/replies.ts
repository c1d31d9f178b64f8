/** The parts of OpenSearch's replies that are used, parsed: what is not there throws. */
import type { Page } from '../../page.js';
import type { Averages } from '../../rank/bm25f.js';
import { z } from 'zod';

const HITS = z.object({
  timed_out: z.boolean(),
  _shards: z.object({ failed: z.number() }),
  hits: z.object({
    hits: z.array(
      z.object({
        _source: z.object({
          url: z.string(),
          title: z.string(),
          text: z.string(),
          order: z.number(),
        }),
      }),
    ),
  }),
});

/** A page that was found, and its place among equals. */
export interface Hit extends Page {
  readonly order: number;
}

/** A `_search`: the pages in order, and whether time ran out. */
export interface Hits {
  readonly pages: readonly Hit[];
  readonly isTimedOut: boolean;
  /** Shards that no node could answer for. */
  readonly lostShards: number;
}

export function parseHits(body: unknown): Hits {
  const { timed_out: isTimedOut, hits, _shards } = HITS.parse(body);
  const pages = hits.hits.map(({ _source }) => _source);
  return { isTimedOut, lostShards: _shards.failed, pages };
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

const TOTAL = z.object({
  _shards: z.object({ failed: z.number() }),
  hits: z.object({ total: z.object({ value: z.number() }) }),
});

/** A `_search` for no page: how many there are. */
export function parseTotal(body: unknown): { readonly pages: number; readonly lostShards: number } {
  const { hits, _shards } = TOTAL.parse(body);
  return { pages: hits.total.value, lostShards: _shards.failed };
}

const average = z.object({ value: z.number().nullable() });
const STATISTICS = z.object({
  hits: z.object({ total: z.object({ value: z.number() }) }),
  aggregations: z.object({
    body: average,
    title: average,
    words: z
      .object({ buckets: z.record(z.string(), z.object({ doc_count: z.number() })) })
      .optional(),
  }),
});

/** What a statistics search found: pages, average lengths of at least 1, and pages with each term. */
export interface Statistics extends Averages {
  readonly pages: number;
  readonly frequencies: readonly number[];
}

export function parseStatistics(body: unknown, terms: number): Statistics {
  const { hits, aggregations } = STATISTICS.parse(body);
  const { words, body: inBody, title } = aggregations;
  return {
    pages: hits.total.value,
    averageBody: Math.max(1, inBody.value ?? 1),
    averageTitle: Math.max(1, title.value ?? 1),
    frequencies: Array.from(
      { length: terms },
      (_, at) => words?.buckets[String(at)]?.doc_count ?? 0,
    ),
  };
}

const HEALTH = z.object({
  active_primary_shards: z.number(),
  active_shards: z.number(),
  unassigned_shards: z.number(),
  initializing_shards: z.number(),
  status: z.enum(['green', 'yellow', 'red']),
});

/** A `_cluster/health` of one index. */
export interface Copies {
  readonly status: 'green' | 'yellow' | 'red';
  readonly shards: number;
  /** Copies of shards that serve, and that should. */
  readonly serving: number;
  readonly wanted: number;
}

export function parseHealth(body: unknown): Copies {
  const health = HEALTH.parse(body);
  const missing = health.unassigned_shards + health.initializing_shards;
  return {
    status: health.status,
    shards: health.active_primary_shards,
    serving: health.active_shards,
    wanted: health.active_shards + missing,
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
