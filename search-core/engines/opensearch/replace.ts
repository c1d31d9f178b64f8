import type { Page } from '../../page.js';
import type { OpenSearchAddress } from './api.js';
import { type Method, OpenSearchClient } from './client.js';
import { indexBody, type Layout } from './documents.js';
import { OpenSearchEngine } from './engine.js';
import { parseIndexNames } from './replies.js';

/** Milliseconds for one call, and for the copies of a new index to be made. */
const TIMEOUT_MS = 60_000;
const COPIES_MS = 600_000;

/**
 * Fills a new index and has the name stand for it, at once; only then is the one before removed.
 * Until then, and if a page fails to come, what was there serves. From then on the name is an alias.
 *
 * The new index has no copies while it is filled, and no fsync for each call; both come before it gets
 * the name, so that all copies serve from the first search on.
 */
export async function replaceIndex(
  address: OpenSearchAddress,
  layout: Layout,
  pages: AsyncIterable<Page>,
): Promise<void> {
  const client = new OpenSearchClient(address);
  const call = (method: Method, path: string, body?: object) =>
    client.call(method, path, {
      ...(body && { body }),
      timeoutMs: TIMEOUT_MS,
      expected: method === 'GET' || method === 'DELETE' ? [404] : [],
    });
  const alias = address.index;
  const { generation } = await new OpenSearchEngine(address).stats();
  const index = `${alias}-${generation + 1}`;
  // What a replacement that was stopped left behind.
  await call('DELETE', `/${index}`);
  const notes = { generation, nextOrder: 0 };
  await call('PUT', `/${index}`, indexBody({ ...layout, replicas: 0 }, notes));
  const translog = (durability: 'async' | 'request') =>
    call('PUT', `/${index}/_settings`, { 'index.translog.durability': durability });
  await translog('async');
  await new OpenSearchEngine({ ...address, index }).load(changesOf(pages));
  await translog('request');
  await call('POST', `/${index}/_flush`);
  if (layout.replicas > 0) {
    await call('PUT', `/${index}/_settings`, { index: { number_of_replicas: layout.replicas } });
    // Fewer machines than copies stop nothing: those that have a place are waited for.
    const health = `/_cluster/health/${index}?wait_for_no_initializing_shards=true`;
    await client.call('GET', `${health}&timeout=${COPIES_MS / 1_000}s`, {
      timeoutMs: COPIES_MS + TIMEOUT_MS,
      expected: [408],
    });
  }
  const before = await call('GET', `/${alias}`);
  const names = before.status === 404 ? [] : parseIndexNames(before.body);
  await call('POST', '/_aliases', {
    actions: [
      ...names.map((name) => ({ remove_index: { index: name } })),
      { add: { index, alias } },
    ],
  });
}

async function* changesOf(pages: AsyncIterable<Page>): AsyncGenerator<[string, Page]> {
  for await (const page of pages) yield [page.url, page];
}
