import { createHash } from 'node:crypto';
import { titleText } from '../../analyze/address.js';
import type { SearchRequest } from '../../contract.js';
import {
  type PhraseUse,
  type SearchLimits,
  type SearchOutcome,
  UnavailableError,
} from '../../engine.js';
import { cleanTitle } from '../../passage/clean.js';
import { Describer } from '../../passage/describe.js';
import { distinctResults, FURTHER_MAX } from '../../query/distinct.js';
import { parseQuery, type Query, withoutPhrases } from '../../query/parse.js';
import { norms } from '../../rank/bm25f.js';
import { PHRASE_PAGES_MIN, phrasesFirst, type Ranked } from '../../rank/rerank.js';
import { pageWords, rankPlainly } from '../plain-ranking.js';
import { OpenSearchError } from './api.js';
import type { OpenSearchClient } from './client.js';
import { candidatesBody } from './queries.js';
import { type Hit, parseHits } from './replies.js';
import { type Collection, CollectionStatistics } from './statistics.js';

/** Pages that OpenSearch finds for a search; the best of them are put in order here. */
const CANDIDATES = 100;
/** OpenSearch ends a search at its deadline by itself; so much later nobody waits any more. */
const GRACE_MS = 500;

/** The pages that were found, in this project's order. */
interface Found {
  readonly pages: readonly (Hit & Ranked)[];
  readonly isTimedOut: boolean;
}

const NOTHING: Found = { pages: [], isTimedOut: false };

/**
 * Searches an OpenSearch index: the cluster finds candidates, and the formula of the embedded engine
 * puts them in order, from their words and the whole index's statistics.
 */
export class OpenSearchSearcher {
  private readonly statistics: CollectionStatistics;

  constructor(
    private readonly client: OpenSearchClient,
    private readonly index: string,
  ) {
    this.statistics = new CollectionStatistics(client, index);
  }

  /** @throws UnavailableError where the cluster does not answer, or not for all shards */
  async search(request: SearchRequest, { deadlineMs }: SearchLimits): Promise<SearchOutcome> {
    const query = parseQuery(request.query);
    if (query.terms.length === 0) return outcome([], false, 'none');
    try {
      return await this.answer(request, query, deadlineMs);
    } catch (error) {
      if (error instanceof OpenSearchError) throw new UnavailableError(error.message);
      throw error;
    }
  }

  /** What was known of the index is not true any more: it was changed from here. */
  forget(): void {
    this.statistics.forget();
  }

  private async answer(
    request: SearchRequest,
    query: Query,
    deadlineMs: number,
  ): Promise<SearchOutcome> {
    const asked = this.statistics.of(query.terms, deadlineMs + GRACE_MS);
    const [collection, found] = await Promise.all([asked, this.find(query, asked, deadlineMs)]);
    const describer = new Describer(query.terms, collection.idfs);
    const first = found.pages.slice(0, request.maxResults + FURTHER_MAX);
    const items = first.map(({ url, title, text }) => ({
      title: cleanTitle(title, url),
      url,
      description: describer.describe(
        titleText({ url, title }),
        text,
        request.maxDescriptionLength,
      ),
    }));
    return outcome(distinctResults(items, request.maxResults), found.isTimedOut, found.phrases);
  }

  /** The best pages: those that hold the phrases, and others behind them where they are too few. */
  private async find(
    query: Query,
    collection: Promise<Collection>,
    deadlineMs: number,
  ): Promise<Found & { readonly phrases: PhraseUse }> {
    const held = await this.matching(query, collection, deadlineMs);
    if (query.phrases.length === 0) return { ...held, phrases: 'none' };
    const isEnough = held.pages.length >= PHRASE_PAGES_MIN;
    if (isEnough || held.isTimedOut) return { ...held, phrases: 'required' };
    const more = await this.matching(withoutPhrases(query), collection, deadlineMs);
    const pages = new Map([...more.pages, ...held.pages].map((page) => [page.page, page]));
    const ordered = phrasesFirst(held.pages, more.pages).flatMap(
      ({ page }) => pages.get(page) ?? [],
    );
    return { pages: ordered, isTimedOut: more.isTimedOut, phrases: 'preferred' };
  }

  private async matching(
    query: Query,
    asked: Promise<Collection>,
    deadlineMs: number,
  ): Promise<Found> {
    const key = createHash('sha1').update(JSON.stringify(query)).digest('hex').slice(0, 16);
    // The same search asks the same copies, which differ in what they still have of deleted pages;
    // another try may ask others.
    const path = (attempt: number): string =>
      `/${this.index}/_search?search_type=dfs_query_then_fetch&preference=${key}.${attempt}`;
    const [reply, collection] = await Promise.all([
      this.client.call('POST', path, {
        body: candidatesBody(query, CANDIDATES, deadlineMs),
        timeoutMs: deadlineMs + GRACE_MS,
        expected: [404],
      }),
      asked,
    ]);
    if (reply.status === 404) return NOTHING;
    const { pages, isTimedOut, lostShards } = parseHits(reply.body);
    if (lostShards > 0) throw new OpenSearchError(`${lostShards} shards have no copy that answers`);
    const wanted = new Set(query.terms);
    const candidates = pages.map((page) => ({
      ...page,
      page: page.order,
      words: pageWords(page, wanted),
    }));
    return {
      pages: rankPlainly(candidates, query, collection.idfs, norms(collection)),
      isTimedOut,
    };
  }
}

function outcome(
  results: SearchOutcome['results'],
  isTimedOut: boolean,
  phrases: PhraseUse,
): SearchOutcome {
  return {
    results,
    metrics: { ended: isTimedOut ? 'deadline' : 'complete', phrases, postings: 0 },
  };
}
