import type { SearchRequest } from '../../contract.js';
import { FURTHER_MAX } from '../../query/distinct.js';
import type { Query } from '../../query/parse.js';
import { NEARNESS_WEIGHT } from '../../rank/rerank.js';

/** As the embedded engine weighs a title (`rank/bm25f.ts`). */
const FIELDS = ['title_words^3', 'body_words'];
/** How far apart neighbours may stand: about as far as in `rank/nearness.ts`. */
const SLOP = 5;

/**
 * The body of a `_search`. Every phrase must be there, else any word will do. Title and body are
 * scored as one field (`cross_fields`: Lucene's BM25 with k1 1.2 and b 0.75, document frequencies
 * of both), each pair of neighbouring words adds a sloppy phrase, whose weight falls with the
 * distance and falls more for reversed words.
 */
export function searchBody(
  { terms, phrases }: Query,
  { maxResults }: SearchRequest,
  timeoutMs: number,
): object {
  const words = { type: 'cross_fields', operator: 'or', query: terms.join(' '), fields: FIELDS };
  const phrase = (list: readonly string[], more: object = {}): object => ({
    multi_match: { type: 'phrase', query: list.join(' '), fields: FIELDS, ...more },
  });
  const pairs = terms.flatMap((term, i) => {
    const next = terms[i + 1];
    return next === undefined || next === term ? [] : [[term, next]];
  });
  return {
    size: maxResults + FURTHER_MAX,
    timeout: `${Math.max(1, Math.floor(timeoutMs))}ms`,
    track_total_hits: false,
    sort: [{ _score: 'desc' }, { order: 'asc' }],
    _source: ['url', 'title', 'text'],
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

/** The body of a `_termvectors` that asks how many pages hold each word. */
export function frequenciesBody({ terms }: Query): object {
  return {
    doc: { body_words: terms.join(' ') },
    fields: ['body_words'],
    term_statistics: true,
    field_statistics: true,
    positions: false,
    offsets: false,
    payloads: false,
  };
}
