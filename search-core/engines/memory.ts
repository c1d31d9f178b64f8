import { addressText, titleText } from '../analyze/address.js';
import { Tokens, tokenize } from '../analyze/tokenize.js';
import type { SearchRequest, SearchResultItem } from '../contract.js';
import type { Page } from '../page.js';
import { cleanText, cleanTitle } from '../passage/clean.js';
import { Describer } from '../passage/describe.js';
import { distinctResults, FURTHER_MAX } from '../query/distinct.js';
import { parseQuery, type Query, withoutPhrases } from '../query/parse.js';
import { inverseDocumentFrequency, lengthCode, LENGTHS, norms, saturate } from '../rank/bm25f.js';
import { TITLE_OCCURRENCES_MAX } from '../index/postings/layout.js';
import {
  ADDRESS_START,
  BODY_START,
  holdsPhrase,
  nearness,
  type Positions,
} from '../rank/nearness.js';
import {
  byScore,
  comparable,
  PHRASE_PAGES_MIN,
  phrasesFirst,
  type Ranked,
  rerank,
  rerankedPages,
} from '../rank/rerank.js';
import type { Change, Engine, EngineStats, PhraseUse, SearchOutcome } from '../engine.js';

interface Entry {
  readonly page: Page;
  readonly positions: ReadonlyMap<string, Positions>;
  /** Length codes. */
  readonly body: number;
  readonly title: number;
}

const NOWHERE: Positions = { values: new Int32Array(0), count: 0 };

/**
 * The naive engine: every page in a Map, every page scored for every query, nothing persisted. It
 * reads like the definition of the ranking, and the tests hold the real engine to it.
 */
export class MemoryEngine implements Engine {
  private searchable: readonly Entry[] = [];
  private pending = new Map<string, Entry>();
  private generation = 0;

  apply(changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      this.pending.delete(change.delete ?? change.put.url);
      if (change.put) this.pending.set(change.put.url, entry(change.put));
    }
    return Promise.resolve();
  }

  commit(): Promise<void> {
    this.searchable = [...this.pending.values()];
    this.generation++;
    return Promise.resolve();
  }

  stats(): Promise<EngineStats> {
    return Promise.resolve({ pages: this.searchable.length, generation: this.generation });
  }

  search(request: SearchRequest): Promise<SearchOutcome> {
    const query = parseQuery(request.query);
    const describer = new Describer(query.terms, this.idfs(query));
    const { ranked, phrases } = this.rankByPhrases(query);
    const resultOf = (page: Page): SearchResultItem => ({
      title: cleanTitle(page.title, page.url),
      url: page.url,
      description: describer.describe(titleText(page), page.text, request.maxDescriptionLength),
    });
    const items = ranked
      .slice(0, request.maxResults + FURTHER_MAX)
      .flatMap(({ page }) => this.searchable[page] ?? [])
      .map(({ page }) => resultOf(page));
    const results = distinctResults(items, request.maxResults);
    return Promise.resolve({ results, metrics: { ended: 'complete', phrases, postings: 0 } });
  }

  /** The best pages in their final order: 200, or fewer where the query has many words. */
  rank(query: Query): Ranked[] {
    return this.rankByPhrases(query).ranked;
  }

  private rankByPhrases(query: Query): { ranked: Ranked[]; phrases: PhraseUse } {
    const ranked = this.rankMatching(query);
    if (query.phrases.length === 0) return { ranked, phrases: 'none' };
    if (ranked.length >= PHRASE_PAGES_MIN) return { ranked, phrases: 'required' };
    const others = this.rankMatching(withoutPhrases(query));
    return { ranked: phrasesFirst(ranked, others), phrases: 'preferred' };
  }

  private rankMatching(query: Query): Ranked[] {
    const weights = this.idfs(query);
    const size = rerankedPages(query.terms.length);
    const best = this.byRelevance(query, weights).slice(0, size);
    const idfs = query.terms.map((term) => weights.get(term) ?? 0);
    const nearnessOf = ({ page }: Ranked): number => {
      const { positions, title = 0 } = this.searchable[page] ?? {};
      return nearness(
        query.terms.map((term) => positions?.get(term) ?? NOWHERE),
        idfs,
        LENGTHS[title] ?? 0,
      );
    };
    return query.terms.length < 2 ? best : rerank(best, best.map(nearnessOf));
  }

  close(): Promise<void> {
    this.pending.clear();
    this.searchable = [];
    return Promise.resolve();
  }

  private idfs(query: Query): Map<string, number> {
    const pages = this.searchable.length;
    return new Map(
      query.terms.map((term) => {
        const frequency = this.searchable.filter(({ positions }) => positions.has(term)).length;
        return [term, inverseDocumentFrequency(pages, frequency)];
      }),
    );
  }

  private byRelevance(query: Query, weights: ReadonlyMap<string, number>): Ranked[] {
    const count = this.searchable.length;
    const average = (length: (entry: Entry) => number): number =>
      Math.max(
        1,
        this.searchable.reduce((sum, one) => sum + (LENGTHS[length(one)] ?? 0), 0) / count,
      );
    const tables = norms({
      averageBody: average((one) => one.body),
      averageTitle: average((one) => one.title),
    });
    const ranked: Ranked[] = [];
    this.searchable.forEach((one, page) => {
      const lists = (terms: readonly string[]): Int32Array[] =>
        terms.map((term) => (one.positions.get(term) ?? NOWHERE).values);
      if (!query.phrases.every((phrase) => holdsPhrase(lists(phrase)))) return;
      const body = tables.body[one.body] ?? 0;
      const title = tables.title[one.title] ?? 0;
      let score = 0;
      for (const term of query.terms) {
        const positions = one.positions.get(term);
        if (!positions) continue;
        const inTitle = positions.values.filter((position) => position < BODY_START).length;
        const x = (positions.count - inTitle) * body + inTitle * title;
        score += (weights.get(term) ?? 0) * saturate(x);
      }
      if (score > 0) ranked.push({ page, score: comparable(score) });
    });
    return ranked.sort(byScore);
  }
}

function entry(page: Page): Entry {
  const positions = new Map<string, number[]>();
  const tokens = new Tokens();
  const add = (text: string, from: number, to: number, occurrencesMax: number): number => {
    tokenize(text, tokens);
    let length = 0;
    for (let i = 0; i < tokens.count; i++) {
      if (tokens.stacked[i] === 0) length++;
      const position = from + length - 1;
      if (position >= to) return length - 1;
      const term = tokens.text(i);
      const list = positions.get(term) ?? [];
      if (list.length < occurrencesMax) list.push(position);
      positions.set(term, list);
    }
    return length;
  };
  const text = cleanText(page.text);
  const titleLength = add(page.title, 0, ADDRESS_START - 1, TITLE_OCCURRENCES_MAX);
  add(addressText(page.url), ADDRESS_START, BODY_START - 1, TITLE_OCCURRENCES_MAX);
  const bodyLength = add(text, BODY_START, Infinity, Infinity);
  return {
    page: { ...page, text },
    positions: new Map(
      [...positions].map(([term, list]) => [
        term,
        { values: Int32Array.from(list), count: list.length },
      ]),
    ),
    body: lengthCode(bodyLength),
    title: lengthCode(titleLength),
  };
}
