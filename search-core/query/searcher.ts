import { titleText } from '../analyze/address.js';
import type { SearchRequest, SearchResultItem } from '../contract.js';
import type { PhraseUse, SearchLimits, SearchOutcome } from '../engine.js';
import type { Leaf, Snapshot } from '../index/snapshot.js';
import { cleanTitle } from '../passage/clean.js';
import { Describer } from '../passage/describe.js';
import { bestParts, type Occurrences, SAID_IN_TITLE } from '../passage/parts.js';
import { BODY_START, nearnessMax } from '../rank/nearness.js';
import {
  NEARNESS_WEIGHT,
  PHRASE_PAGES_MIN,
  phrasesFirst,
  type Ranked,
  rerank,
  rerankedPages,
} from '../rank/rerank.js';
import { AnyWordSearch } from './any-word.js';
import { Budget, type Now } from './budget.js';
import { distinctResults, FURTHER_MAX } from './distinct.js';
import { LeafScorer } from './leaf-scorer.js';
import { type FoundTerms, lookUp } from './found.js';
import { nearnessScores, positionReaders } from './nearness-reader.js';
import { parseQuery, type Query, withoutPhrases } from './parse.js';
import { PhraseSearch } from './phrase.js';
import { ScoredTerm } from './scored-term.js';
import { TopDocuments } from './top.js';

/** Searches one snapshot. It is used by one thread at a time and keeps no state between searches. */
export class Searcher {
  private readonly scorers: readonly LeafScorer[];

  constructor(
    readonly snapshot: Snapshot,
    private readonly now: Now,
  ) {
    this.scorers = snapshot.leaves.map((leaf) => new LeafScorer(leaf, snapshot.averages));
  }

  /** The whole answer: the best pages with their passages. */
  search(request: SearchRequest, limits: SearchLimits): SearchOutcome {
    const budget = new Budget(this.now, limits);
    const query = parseQuery(request.query);
    const found = lookUp(this.snapshot, query);
    const { ranked, phrases } = this.rankByPhrases(query, found, budget, request.maxResults);
    const weights = new Map([...found].map(([term, { idf }]) => [term, idf]));
    const describer = new Describer(query.terms, weights);
    const results = distinctResults(
      this.results(
        ranked.slice(0, request.maxResults + FURTHER_MAX),
        found,
        describer,
        request.maxDescriptionLength,
      ),
      request.maxResults,
    );
    const { generation } = this.snapshot.commit;
    const { ended, postings } = budget;
    return { results, metrics: { ended, phrases, postings, generation } };
  }

  /**
   * The best pages in their final order: at least the `wanted` first of the 200 (fewer where the
   * query has many words) that are looked at for nearness.
   */
  rank(query: Query, found: FoundTerms, budget: Budget, wanted = Infinity): Ranked[] {
    return this.rankByPhrases(query, found, budget, wanted).ranked;
  }

  private rankByPhrases(
    query: Query,
    found: FoundTerms,
    budget: Budget,
    wanted: number,
  ): { readonly ranked: Ranked[]; readonly phrases: PhraseUse } {
    const ranked = this.rankMatching(query, found, budget, wanted);
    if (query.phrases.length === 0) return { ranked, phrases: 'none' };
    const isEnough = ranked.length >= PHRASE_PAGES_MIN || budget.ended !== 'complete';
    if (isEnough) return { ranked, phrases: 'required' };
    const others = this.rankMatching(withoutPhrases(query), found, budget, wanted);
    return { ranked: phrasesFirst(ranked, others), phrases: 'preferred' };
  }

  /** The best of the pages that hold every phrase; where the query has none, of all. */
  private rankMatching(query: Query, found: FoundTerms, budget: Budget, wanted: number): Ranked[] {
    const idfs = query.terms.map((term) => found.get(term)?.idf ?? 0);
    const size = rerankedPages(query.terms.length);
    const top = new TopDocuments(size, wanted, NEARNESS_WEIGHT * nearnessMax(idfs));
    const best = this.collect(query, found, budget, top);
    if (query.terms.length < 2) return best;
    return rerank(best, nearnessScores(this.snapshot, query, found, best));
  }

  /** The best `size` documents by BM25F alone. */
  best(query: Query, found: FoundTerms, budget: Budget, size: number): Ranked[] {
    return this.collect(query, found, budget, new TopDocuments(size));
  }

  private collect(query: Query, found: FoundTerms, budget: Budget, top: TopDocuments): Ranked[] {
    for (const [number, scorer] of this.scorers.entries()) {
      if (budget.ended !== 'complete') break;
      this.searchLeaf(number, scorer, query, found, top, budget);
    }
    return top.sorted();
  }

  private searchLeaf(
    number: number,
    scorer: LeafScorer,
    query: Query,
    found: FoundTerms,
    top: TopDocuments,
    budget: Budget,
  ): void {
    const terms = new Map<string, ScoredTerm>();
    for (const [term, { idf, count, entries }] of found) {
      const entry = entries[number];
      if (entry) terms.set(term, new ScoredTerm(scorer, entry, idf * count));
    }
    const all = [...terms.values()];
    if (query.phrases.length === 0) {
      if (all.length > 0) new AnyWordSearch(scorer, all, top, budget).run();
      return;
    }
    const phrases = query.phrases.map((phrase) => phrase.flatMap((term) => terms.get(term) ?? []));
    const complete = phrases.every((phrase, i) => phrase.length === query.phrases[i]?.length);
    if (complete) new PhraseSearch(scorer, all, phrases, top, budget).run();
  }

  /** Results in rank order, each made when it is asked for. */
  private *results(
    ranked: readonly Ranked[],
    found: FoundTerms,
    describer: Describer,
    lengthMax: number,
  ): Generator<SearchResultItem> {
    for (const { page } of ranked) yield this.result(page, found, describer, lengthMax);
  }

  private result(
    page: number,
    found: FoundTerms,
    describer: Describer,
    lengthMax: number,
  ): SearchResultItem {
    const leaf = this.snapshot.leafOf(page);
    const document = page - leaf.base;
    const { url, title, text } = leaf.segment.page(document, (words) =>
      bestParts(words, this.occurrences(leaf, document, found)),
    );
    return {
      title: cleanTitle(title, url),
      url,
      description: describer.describe(titleText({ url, title }), text, lengthMax),
    };
  }

  /** Where the query's words stand in the body of a document. */
  private occurrences(leaf: Leaf, document: number, found: FoundTerms): Occurrences[] {
    const readers = positionReaders(leaf, this.snapshot.leaves.indexOf(leaf), found);
    return [...readers].map(([term, positions]) => {
      positions.read(document);
      const all = positions.values.subarray(0, positions.count);
      const isInTitle = (all[0] ?? BODY_START) < BODY_START;
      return {
        idf: (isInTitle ? SAID_IN_TITLE : 1) * (found.get(term)?.idf ?? 0),
        words: all
          .filter((position) => position >= BODY_START)
          .map((position) => position - BODY_START),
      };
    });
  }
}
