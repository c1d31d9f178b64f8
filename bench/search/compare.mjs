// Both engines over the same pages: how good what they find is, and how often they agree.
import { openDirectory } from '../../dist/search-core/disk/filesystem.js';
import { EmbeddedEngine } from '../../dist/search-core/engines/embedded.js';
import { OpenSearchEngine } from '../../dist/search-core/engines/opensearch/engine.js';
import { buildIndex } from '../../dist/search-core/index/build.js';
import { openSearchSink } from '../../dist/search-core/ingest/opensearch-sink.js';
import { addressOf } from './engines/opensearch.mjs';

const LIMITS = { deadlineMs: 60_000, postingsMax: 1e12 };
const SHOWN = 20;

const OPEN = {
  'search-core': async (directory, pages) => {
    await buildIndex(directory, pages());
    return new EmbeddedEngine(openDirectory(directory), () => performance.now());
  },
  opensearch: async (_directory, pages) => {
    const address = addressOf('relevance');
    await openSearchSink(address, {
      shards: Number(process.env.BENCH_SHARDS ?? 2),
      replicas: 0,
    }).replace(pages());
    return new OpenSearchEngine(address);
  },
};

/** The first 20 URLs of every query, by engine. */
export async function rankAll(engines, directory, pages, queries) {
  const ranked = {};
  for (const name of engines) {
    const engine = await OPEN[name](directory, pages);
    ranked[name] = [];
    for (const query of queries) {
      const request = { query, maxResults: SHOWN, maxDescriptionLength: 1000 };
      const { results } = await engine.search(request, LIMITS);
      ranked[name].push(results.map(({ url }) => url));
    }
    await engine.close();
  }
  return ranked;
}

/** How often two engines have the same first result, and how much of the first ten they share, in percent. */
export function agreement(some, others) {
  const pairs = some
    .map((urls, at) => [urls, others[at] ?? []])
    .filter(([urls]) => urls.length > 0);
  const share = (of) =>
    ((100 * pairs.reduce((sum, pair) => sum + of(pair), 0)) / Math.max(1, pairs.length)).toFixed(1);
  const shared = ([a, b]) =>
    a.slice(0, 10).filter((url) => b.slice(0, 10).includes(url)).length / Math.min(10, a.length);
  return { first: share(([a, b]) => (a[0] === b[0] ? 1 : 0)), ten: share(shared) };
}
