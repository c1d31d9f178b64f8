import { addressText } from '../analyze/address.js';
import { Tokens, tokenize } from '../analyze/tokenize.js';
import { TITLE_OCCURRENCES_MAX } from '../index/postings/layout.js';
import type { Page } from '../page.js';
import type { Query } from '../query/parse.js';
import { lengthCode, LENGTHS, type Norms, saturate } from '../rank/bm25f.js';
import {
  ADDRESS_START,
  BODY_START,
  holdsPhrase,
  nearness,
  type Positions,
} from '../rank/nearness.js';
import { byScore, comparable, type Ranked, rerank, rerankedPages } from '../rank/rerank.js';

/** Where words stand in a page, and how long its fields are. */
export interface PageWords {
  readonly positions: ReadonlyMap<string, Positions>;
  /** Length codes. */
  readonly body: number;
  readonly title: number;
}

/** A page that may be ranked; `page` orders ties. */
export interface RankedPage {
  readonly page: number;
  readonly words: PageWords;
}

const NOWHERE: Positions = { values: new Int32Array(0), count: 0 };

/**
 * The words of one page, as an index would have them.
 * @param page with its text cleaned
 * @param wanted the words to keep; all where it is left out
 */
export function pageWords(page: Page, wanted?: ReadonlySet<string>): PageWords {
  const lists = new Map<string, number[]>();
  const tokens = new Tokens();
  const add = (text: string, from: number, to: number, occurrencesMax: number): number => {
    tokenize(text, tokens);
    let length = 0;
    for (let i = 0; i < tokens.count; i++) {
      if (tokens.stacked[i] === 0) length++;
      const position = from + length - 1;
      if (position >= to) return length - 1;
      const term = tokens.text(i);
      if (wanted?.has(term) === false) continue;
      const list = lists.get(term);
      if (!list) lists.set(term, [position]);
      else if (list.length < occurrencesMax) list.push(position);
    }
    return length;
  };
  const titleLength = add(page.title, 0, ADDRESS_START - 1, TITLE_OCCURRENCES_MAX);
  add(addressText(page.url), ADDRESS_START, BODY_START - 1, TITLE_OCCURRENCES_MAX);
  const bodyLength = add(page.text, BODY_START, Infinity, Infinity);
  const positions = [...lists].map(([term, list]): [string, Positions] => [
    term,
    { values: Int32Array.from(list), count: list.length },
  ]);
  return {
    positions: new Map(positions),
    body: lengthCode(bodyLength),
    title: lengthCode(titleLength),
  };
}

/**
 * The best pages in their final order, every page scored by the definition: those that hold all
 * phrases and at least one word.
 */
export function rankPlainly<T extends RankedPage>(
  candidates: readonly T[],
  query: Query,
  idfs: ReadonlyMap<string, number>,
  tables: Norms,
): (T & Ranked)[] {
  const scored = candidates
    .filter(({ words }) => holdsPhrases(words, query))
    .map((one) => ({ ...one, score: relevance(one.words, query, idfs, tables) }))
    .filter(({ score }) => score > 0)
    .sort(byScore);
  const best = scored.slice(0, rerankedPages(query.terms.length));
  if (query.terms.length < 2) return best;
  const weights = query.terms.map((term) => idfs.get(term) ?? 0);
  const near = best.map(({ words }) =>
    nearness(
      query.terms.map((term) => words.positions.get(term) ?? NOWHERE),
      weights,
      LENGTHS[words.title] ?? 0,
    ),
  );
  const byPage = new Map(best.map((one) => [one.page, one]));
  return rerank(best, near).flatMap((ranked) => {
    const one = byPage.get(ranked.page);
    return one ? { ...one, ...ranked } : [];
  });
}

function holdsPhrases({ positions }: PageWords, { phrases }: Query): boolean {
  return phrases.every((phrase) =>
    holdsPhrase(phrase.map((term) => (positions.get(term) ?? NOWHERE).values)),
  );
}

/** BM25F. */
function relevance(
  words: PageWords,
  query: Query,
  idfs: ReadonlyMap<string, number>,
  tables: Norms,
): number {
  const body = tables.body[words.body] ?? 0;
  const title = tables.title[words.title] ?? 0;
  let score = 0;
  for (const term of query.terms) {
    const found = words.positions.get(term);
    if (!found) continue;
    const inTitle = found.values.filter((position) => position < BODY_START).length;
    const x = (found.count - inTitle) * body + inTitle * title;
    score += (idfs.get(term) ?? 0) * saturate(x);
  }
  return comparable(score);
}
