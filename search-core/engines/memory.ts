import { titleText } from '../analyze/address.js';
import type { SearchRequest, SearchResultItem } from '../contract.js';
import type { Change, Engine, EngineStats, PhraseUse, SearchOutcome } from '../engine.js';
import type { Page } from '../page.js';
import { cleanText, cleanTitle } from '../passage/clean.js';
import { Describer } from '../passage/describe.js';
import { distinctResults, FURTHER_MAX } from '../query/distinct.js';
import { parseQuery, type Query, withoutPhrases } from '../query/parse.js';
import { inverseDocumentFrequency, LENGTHS, norms } from '../rank/bm25f.js';
import { PHRASE_PAGES_MIN, phrasesFirst, type Ranked } from '../rank/rerank.js';
import { type PageWords, pageWords, rankPlainly } from './plain-ranking.js';

interface Entry {
  readonly page: Page;
  readonly words: PageWords;
}

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
    const count = this.searchable.length;
    const average = (length: (words: PageWords) => number): number =>
      Math.max(
        1,
        this.searchable.reduce((sum, { words }) => sum + (LENGTHS[length(words)] ?? 0), 0) / count,
      );
    const tables = norms({
      averageBody: average(({ body }) => body),
      averageTitle: average(({ title }) => title),
    });
    const candidates = this.searchable.map(({ words }, page) => ({ page, words }));
    const ranked = rankPlainly(candidates, query, this.idfs(query), tables);
    return ranked.map(({ page, score }) => ({ page, score }));
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
        const frequency = this.searchable.filter(({ words }) => words.positions.has(term)).length;
        return [term, inverseDocumentFrequency(pages, frequency)];
      }),
    );
  }
}

function entry(page: Page): Entry {
  const cleaned = { ...page, text: cleanText(page.text) };
  return { page: cleaned, words: pageWords(cleaned) };
}
