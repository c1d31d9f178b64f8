import type { Query } from '../../query/parse.js';
import { NEARNESS_WEIGHT } from '../../rank/rerank.js';

/** As the embedded engine weighs a title (`rank/bm25f.ts`). */
const FIELDS = ['title_words^3', 'body_words'];
/** How far apart neighbours may stand: about as far as in `rank/nearness.ts`. */
const SLOP = 5;

/**
 * The body of a `_search` for the pages that may be the best. Every phrase must be there, else any
 * word will do. Title and body are scored as one field (`cross_fields`: Lucene's BM25 with k1 1.2 and b 0.75,
 * document frequencies of both), each pair of neighbouring words adds a sloppy phrase, whose weight falls with the
 * distance and falls more for reversed words. That is near to this project's own formula, by which
 * the pages are put in order afterwards.
 */
export function candidatesBody({ terms, phrases }: Query, size: number, timeoutMs: number): object {
  const words = { type: 'cross_fields', operator: 'or', query: terms.join(' '), fields: FIELDS };
  const phrase = (list: readonly string[], more: object = {}): object => ({
    multi_match: { type: 'phrase', query: list.join(' '), fields: FIELDS, ...more },
  });
  const pairs = terms.flatMap((term, i) => {
    const next = terms[i + 1];
    return next === undefined || next === term ? [] : [[term, next]];
  });
  return {
    size,
    timeout: `${Math.max(1, Math.floor(timeoutMs))}ms`,
    track_total_hits: false,
    sort: [{ _score: 'desc' }, { order: 'asc' }],
    _source: ['url', 'title', 'text', 'order'],
    query: {
      bool: {
        must: [{ multi_match: words }],
        filter: phrases.map((list) => phrase(list)),
        should: pairs.map((pair) => phrase(pair, { slop: SLOP, boost: NEARNESS_WEIGHT })),
      },
    },
  };
}

const ADDRESSES = 1_000;

/** The body of a `_search` for the addresses of the next pages behind one in the order of coming. */
export function addressesBody(after: number): object {
  return {
    size: ADDRESSES,
    track_total_hits: false,
    sort: [{ order: 'asc' }],
    _source: ['url', 'order'],
    query: { range: { order: { gt: after } } },
  };
}

/** The body of a `_search` that asks how many pages there are, how long, and how many hold each word. */
export function statisticsBody(terms: readonly string[]): object {
  const filters = Object.fromEntries(
    terms.map((term, at) => [String(at), { term: { words: term } }]),
  );
  return {
    size: 0,
    track_total_hits: true,
    aggs: {
      body: { avg: { field: 'body_length' } },
      title: { avg: { field: 'title_length' } },
      ...(terms.length > 0 && { words: { filters: { filters } } }),
    },
  };
}
