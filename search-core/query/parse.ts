import { queryTerms } from '../analyze/tokenize.js';

/**
 * A query as the engine takes it. `terms` holds every word in the order written, those of phrases
 * included; a word written twice stands there twice, because order counts. A page answers when it
 * holds every phrase and, if there is none, at least one term. Where too few pages hold the phrases,
 * those with at least one term follow them.
 */
export interface Query {
  readonly terms: readonly string[];
  /** Words in double quotes: at neighbouring positions, in this order, in title or body. */
  readonly phrases: readonly (readonly string[])[];
}

/** The same query with its phrases as plain words. */
export function withoutPhrases({ terms }: Query): Query {
  return { terms, phrases: [] };
}

const QUOTED = /["“”„«»]([^"“”„«»]*)["“”„«»]/gu;

/** Compounds multiply words (`a-b-c` is three); beyond this many the rest is not looked at. */
const QUERY_TERMS_MAX = 200;

/** Parses query text. A quotation mark without its partner separates words, no more. */
export function parseQuery(text: string): Query {
  const terms = queryTerms(text).slice(0, QUERY_TERMS_MAX);
  const phrases: string[][] = [];
  for (const [, quoted] of text.matchAll(QUOTED)) {
    const phrase = queryTerms(quoted ?? '').slice(0, QUERY_TERMS_MAX);
    if (phrase.length > 0) phrases.push(phrase);
  }
  return { terms, phrases };
}
