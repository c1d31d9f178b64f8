// Rankings of this project's engine: by BM25F alone and with ordered nearness.
import { openDirectory } from '../../dist/search-core/disk/filesystem.js';
import { buildIndex } from '../../dist/search-core/index/build.js';
import { Snapshot } from '../../dist/search-core/index/snapshot.js';
import { Budget } from '../../dist/search-core/query/budget.js';
import { lookUp } from '../../dist/search-core/query/found.js';
import { parseQuery } from '../../dist/search-core/query/parse.js';
import { Searcher } from '../../dist/search-core/query/searcher.js';

const LIMITS = { deadlineMs: 1e9, postingsMax: 1e12 };

/** Builds an index of `pages`; returns a function from a query to the URLs in both orders. */
export async function open(directory, pages) {
  await buildIndex(directory, pages);
  const snapshot = Snapshot.open(openDirectory(directory));
  const searcher = new Searcher(snapshot, () => 0);
  const budget = () => new Budget(() => 0, LIMITS);
  const urls = (ranked, size) =>
    ranked.slice(0, size).map(({ page }) => {
      const leaf = snapshot.leafOf(page);
      return leaf.segment.page(page - leaf.base).url;
    });
  return (text, size) => {
    const query = parseQuery(text);
    const found = lookUp(snapshot, query);
    return {
      plain: urls(searcher.best(query, found, budget(), size), size),
      near: urls(searcher.rank(query, found, budget()), size),
    };
  };
}
