// This project's engine over OpenSearch: the server that BENCH_OPENSEARCH names (http://127.0.0.1:9200).
import { OpenSearchClient } from '../../../dist/search-core/engines/opensearch/client.js';
import { parseOpenSearch } from '../../../dist/search-core/engines/opensearch/api.js';
import { OpenSearchEngine } from '../../../dist/search-core/engines/opensearch/engine.js';
import { candidatesBody } from '../../../dist/search-core/engines/opensearch/queries.js';
import { openSearchSink } from '../../../dist/search-core/ingest/opensearch-sink.js';
import { parseQuery } from '../../../dist/search-core/query/parse.js';

export const name = 'OpenSearch';
const LAYOUT = { shards: 1, replicas: 0 };
const LIMITS = { deadlineMs: 60_000, postingsMax: 1e12 };
const CANDIDATES = 100;

export function addressOf(index = 'bench') {
  return parseOpenSearch(`${process.env.BENCH_OPENSEARCH ?? 'http://127.0.0.1:9200'}/${index}`);
}

export async function build(_directory, pages) {
  await openSearchSink(addressOf(), LAYOUT).replace(pages);
}

/** What the index takes on the server's disks. */
export async function diskBytes() {
  const client = new OpenSearchClient(addressOf());
  const { body } = await client.call('GET', '/bench/_stats/store', { timeoutMs: 10_000 });
  return body._all.total.store.size_in_bytes;
}

export async function open() {
  const address = addressOf();
  const engine = new OpenSearchEngine(address);
  const client = new OpenSearchClient(address);
  const plain = async (q, size) => {
    const { body } = await client.call('POST', '/bench/_search', {
      body: candidatesBody(parseQuery(q), size, LIMITS.deadlineMs),
      timeoutMs: LIMITS.deadlineMs,
    });
    return body.hits.hits;
  };
  return {
    /** What OpenSearch finds by itself, with the stored text. */
    top10: (q) => plain(q, 10),
    /** The candidates of a full answer, as they come from the server. */
    candidates: (q) => plain(q, CANDIDATES),
    /** The product's answer. */
    full: (q) => engine.search({ query: q, maxResults: 20, maxDescriptionLength: 3000 }, LIMITS),
    close: () => engine.close(),
  };
}
