import { titleText } from '../../analyze/address.js';
import type { SearchRequest } from '../../contract.js';
import type { Page } from '../../page.js';
import { cleanTitle } from '../../passage/clean.js';
import { Describer } from '../../passage/describe.js';
import { distinctResults } from '../../query/distinct.js';
import { parseQuery, type Query, withoutPhrases } from '../../query/parse.js';
import { inverseDocumentFrequency } from '../../rank/bm25f.js';
import { PHRASE_PAGES_MIN } from '../../rank/rerank.js';
import type {
  Change,
  Engine,
  EngineStats,
  PhraseUse,
  SearchLimits,
  SearchOutcome,
} from '../../engine.js';
import { callOpenSearch, type OpenSearchAddress, OpenSearchError } from './api.js';
import { documentOf, idOf, INDEX } from './documents.js';
import { addressesBody, frequenciesBody, searchBody } from './queries.js';
import * as replies from './replies.js';

/** For calls that change or describe the index. */
const CALL_TIMEOUT_MS = 60_000;
/** OpenSearch ends a search at its deadline by itself; so much later nobody waits any more. */
const GRACE_MS = 500;
/** UTF-16 code units in one `_bulk` call, and of changes that wait for a commit. */
const BULK_LENGTH_MAX = 4_000_000;
const PENDING_LENGTH_MAX = 128_000_000;
/** Pages that one `_mget` call asks for. */
const IDS_MAX = 1_000;
/** Copies of a shard may differ in their deleted pages: the same one is asked again. */
const PREFERENCE = 'preference=search-core';

/**
 * An OpenSearch index behind the port. Changes wait in this process until the commit, which sends
 * them and refreshes. A commit that fails half-way may have sent a part of them, which is found
 * after the next one; to commit the same changes again is safe. One process may write at a time.
 */
export class OpenSearchEngine implements Engine {
  /** Changes since the last commit, by URL; null deletes. */
  private pending = new Map<string, Page | null>();
  private pendingLength = 0;

  constructor(private readonly address: OpenSearchAddress) {}

  async search(request: SearchRequest, { deadlineMs }: SearchLimits): Promise<SearchOutcome> {
    const query = parseQuery(request.query);
    const timeoutMs = deadlineMs + GRACE_MS;
    const [found, weights] = await Promise.all([
      this.find(query, request, deadlineMs),
      query.terms.length === 0 ? new Map<string, number>() : this.weights(query, timeoutMs),
    ]);
    const describer = new Describer(query.terms, weights);
    const items = found.pages.map(({ url, title, text }) => ({
      title: cleanTitle(title, url),
      url,
      description: describer.describe(
        titleText({ url, title }),
        text,
        request.maxDescriptionLength,
      ),
    }));
    return {
      results: distinctResults(items, request.maxResults),
      metrics: {
        ended: found.isTimedOut ? 'deadline' : 'complete',
        phrases: found.phrases,
        postings: 0,
      },
    };
  }

  /** The best pages: those that hold the phrases, and others behind them where they are too few. */
  private async find(
    query: Query,
    request: SearchRequest,
    deadlineMs: number,
  ): Promise<replies.Hits & { readonly phrases: PhraseUse }> {
    const held = await this.matching(query, request, deadlineMs);
    if (query.phrases.length === 0) return { ...held, phrases: 'none' };
    const isEnough = held.pages.length >= PHRASE_PAGES_MIN;
    if (isEnough || held.isTimedOut) return { ...held, phrases: 'required' };
    const more = await this.matching(withoutPhrases(query), request, deadlineMs);
    const urls = new Set(held.pages.map(({ url }) => url));
    const others = more.pages.filter(({ url }) => !urls.has(url));
    return { pages: [...held.pages, ...others], isTimedOut: more.isTimedOut, phrases: 'preferred' };
  }

  private async matching(
    query: Query,
    request: SearchRequest,
    deadlineMs: number,
  ): Promise<replies.Hits> {
    if (query.terms.length === 0) return { pages: [], isTimedOut: false };
    const found = await this.call(
      'POST',
      `_search?search_type=dfs_query_then_fetch&${PREFERENCE}`,
      {
        body: searchBody(query, request, deadlineMs),
        timeoutMs: deadlineMs + GRACE_MS,
        expected: [404],
      },
    );
    return found.status === 404 ? { pages: [], isTimedOut: false } : replies.parseHits(found.body);
  }

  apply(changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      const url = change.delete ?? change.put.url;
      this.pendingLength += url.length + (change.put?.text.length ?? 0);
      if (this.pendingLength > PENDING_LENGTH_MAX) {
        return Promise.reject(new Error(`over ${PENDING_LENGTH_MAX} characters without a commit`));
      }
      // Deleted first, so that the last change also comes last.
      this.pending.delete(url);
      this.pending.set(url, change.put ?? null);
    }
    return Promise.resolve();
  }

  async commit(): Promise<void> {
    // 400: it is there already.
    await this.call('PUT', '', { body: INDEX, expected: [400] });
    const { generation, nextOrder } = await this.notes();
    let order = nextOrder;
    let lines: string[] = [];
    let length = 0;
    const send = async (): Promise<void> => {
      if (lines.length > 0) await this.bulk(`${lines.join('\n')}\n`);
      lines = [];
      length = 0;
    };
    for (const [url, page] of this.pending) {
      const _id = idOf(url);
      const action = page ? [{ index: { _id } }, documentOf(page, order++)] : [{ delete: { _id } }];
      const text = action.map((line) => JSON.stringify(line)).join('\n');
      if (length + text.length > BULK_LENGTH_MAX) await send();
      lines.push(text);
      length += text.length;
    }
    await send();
    const _meta: replies.Notes = { generation: generation + 1, nextOrder: order };
    await this.call('PUT', '_mapping', { body: { _meta } });
    await this.call('POST', '_refresh');
    this.forget();
  }

  async stats(): Promise<EngineStats> {
    const count = await this.call('GET', '_count', { expected: [404] });
    if (count.status === 404) return { pages: 0, generation: 0 };
    const { generation } = await this.notes();
    return { pages: replies.parseCount(count.body), generation };
  }

  /** Those of `urls` whose page the index holds, committed or not. */
  async held(urls: readonly string[]): Promise<ReadonlySet<string>> {
    const held = new Set<string>();
    for (let at = 0; at < urls.length; at += IDS_MAX) {
      const some = new Map(urls.slice(at, at + IDS_MAX).map((url) => [idOf(url), url]));
      const reply = await this.call('POST', '_mget?_source=false', {
        body: { ids: [...some.keys()] },
        expected: [404],
      });
      if (reply.status === 404) return held;
      for (const id of replies.parseFound(reply.body)) {
        const url = some.get(id);
        if (url !== undefined) held.add(url);
      }
    }
    return held;
  }

  /** The URLs of all committed pages. */
  async *addresses(): AsyncIterable<string> {
    for (let after = -1; ;) {
      const reply = await this.call('POST', '_search', {
        body: addressesBody(after),
        expected: [404],
      });
      const found = reply.status === 404 ? [] : replies.parseAddresses(reply.body);
      for (const { url } of found) yield url;
      const last = found.at(-1);
      if (last === undefined) return;
      after = last.order;
    }
  }

  close(): Promise<void> {
    this.forget();
    return Promise.resolve();
  }

  private forget(): void {
    this.pending = new Map();
    this.pendingLength = 0;
  }

  /** Each word's inverse document frequency, for choosing passages. */
  private async weights(query: Query, timeoutMs: number): Promise<ReadonlyMap<string, number>> {
    const reply = await this.call('POST', `_termvectors?${PREFERENCE}`, {
      body: frequenciesBody(query),
      timeoutMs,
      expected: [404],
    });
    if (reply.status === 404) return new Map();
    const { pages, frequencies } = replies.parseFrequencies(reply.body);
    const entries = query.terms.map((term): [string, number] => [
      term,
      inverseDocumentFrequency(pages, Math.min(pages, frequencies.get(term) ?? 0)),
    ]);
    return new Map(entries);
  }

  private async notes(): Promise<replies.Notes> {
    return replies.parseNotes((await this.call('GET', '_mapping')).body);
  }

  private async bulk(lines: string): Promise<void> {
    const { body } = await this.call('POST', '_bulk', { body: lines });
    const failure = replies.parseBulkFailure(body);
    if (failure !== undefined) throw new OpenSearchError(`a page was not taken: ${failure}`);
  }

  /** A call on the index, or on `path` within it. */
  private call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    options: {
      readonly body?: object | string;
      readonly timeoutMs?: number;
      readonly expected?: readonly number[];
    } = {},
  ): ReturnType<typeof callOpenSearch> {
    const { index } = this.address;
    return callOpenSearch(this.address, method, path === '' ? `/${index}` : `/${index}/${path}`, {
      timeoutMs: CALL_TIMEOUT_MS,
      ...options,
    });
  }
}
