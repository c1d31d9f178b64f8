import type { SearchRequest } from '../../contract.js';
import type { Change, Engine, EngineStats, SearchLimits, SearchOutcome } from '../../engine.js';
import type { Page } from '../../page.js';
import { type OpenSearchAddress, OpenSearchError } from './api.js';
import { BulkSender } from './bulk.js';
import { type CallOptions, type Method, OpenSearchClient, type OpenSearchReply } from './client.js';
import { documentOf, idOf, indexBody, type Layout, ONE_SHARD } from './documents.js';
import { addressesBody } from './queries.js';
import * as replies from './replies.js';
import { OpenSearchSearcher } from './searcher.js';

/** For calls that change or describe the index. */
const CALL_TIMEOUT_MS = 60_000;
/** For what readiness asks: it says what it knows rather than wait. */
const STATS_TIMEOUT_MS = 1_000;
/** UTF-16 code units of changes that wait for a commit. */
const PENDING_LENGTH_MAX = 128_000_000;
/** Pages that one `_mget` call asks for. */
const IDS_MAX = 1_000;

/**
 * An OpenSearch index behind the port. Changes wait in this process until the commit, which sends
 * them and refreshes. A commit that fails half-way may have sent a part of them, which is found
 * after the next one; to commit the same changes again is safe. One process may write at a time.
 */
export class OpenSearchEngine implements Engine {
  /** Changes since the last commit, by URL; null deletes. */
  private pending = new Map<string, Page | null>();
  private pendingLength = 0;
  private readonly client: OpenSearchClient;
  private readonly searcher: OpenSearchSearcher;
  private asked: Promise<EngineStats> | undefined;

  constructor(
    private readonly address: OpenSearchAddress,
    private readonly layout: Layout = ONE_SHARD,
  ) {
    this.client = new OpenSearchClient(address);
    this.searcher = new OpenSearchSearcher(this.client, address.index);
  }

  search(request: SearchRequest, limits: SearchLimits): Promise<SearchOutcome> {
    return this.searcher.search(request, limits);
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
    await this.load([...this.pending]);
    this.forget();
  }

  /** Sends changes as they come, a page or null for each URL, and makes them searchable at the end. */
  async load(
    changes: Iterable<[string, Page | null]> | AsyncIterable<[string, Page | null]>,
  ): Promise<void> {
    // 400: it is there already.
    await this.call('PUT', '', { body: indexBody(this.layout), expected: [400] });
    const { generation, nextOrder } = await this.notes();
    let order = nextOrder;
    const sender = new BulkSender((lines) => this.bulk(lines));
    for await (const [url, page] of changes) {
      const id = idOf(url);
      const action = page
        ? [{ index: { _id: id } }, documentOf(page, order++)]
        : [{ delete: { _id: id } }];
      await sender.add({ id, lines: action.map((line) => JSON.stringify(line)).join('\n') });
    }
    await sender.finish();
    const _meta: replies.Notes = { generation: generation + 1, nextOrder: order };
    await this.call('PUT', '_mapping', { body: { _meta } });
    await this.call('POST', '_refresh');
    this.searcher.forget();
  }

  /** Asked once however many wait for it, and answered within a second, whatever the cluster does. */
  stats(): Promise<EngineStats> {
    this.asked ??= this.look().finally(() => {
      this.asked = undefined;
    });
    return this.asked;
  }

  private async look(): Promise<EngineStats> {
    const options = { timeoutMs: STATS_TIMEOUT_MS, expected: [404] };
    const health = `/_cluster/health/${this.address.index}?timeout=0s`;
    try {
      const [found, notes, copies] = await Promise.all([
        this.call('POST', '_search', { ...options, body: { size: 0, track_total_hits: true } }),
        this.call('GET', '_mapping', options),
        // 408: the index has not the copies that were waited for, and its state all the same.
        this.client.call('GET', health, { ...options, expected: [404, 408] }),
      ]);
      if (found.status === 404) return { pages: 0, generation: 0 };
      const { generation } = replies.parseNotes(notes.body);
      const { pages, lostShards } = replies.parseTotal(found.body);
      const { shards, serving, wanted } = replies.parseHealth(copies.body);
      const details = `${shards} shards, ${serving} of ${wanted} copies serve`;
      if (lostShards === 0) return { pages, generation, details };
      const problem = `${lostShards} shards have no copy that answers`;
      return { pages, generation: 0, details, problem };
    } catch (error) {
      if (!(error instanceof OpenSearchError)) throw error;
      return { pages: 0, generation: 0, problem: `OpenSearch: ${error.message}` };
    }
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
    method: Method,
    path: string,
    options: Partial<CallOptions> = {},
  ): Promise<OpenSearchReply> {
    const { index } = this.address;
    return this.client.call(method, path === '' ? `/${index}` : `/${index}/${path}`, {
      timeoutMs: CALL_TIMEOUT_MS,
      ...options,
    });
  }
}
