// Rankings of this project's engine: by BM25F alone and with ordered nearness.
import { existsSync, readdirSync } from 'node:fs';
import { openDirectory } from '../../dist/search-core/disk/filesystem.js';
import { buildIndex } from '../../dist/search-core/index/build.js';
import { Snapshot } from '../../dist/search-core/index/snapshot.js';
import { Budget } from '../../dist/search-core/query/budget.js';
import { lookUp } from '../../dist/search-core/query/found.js';
import { parseQuery } from '../../dist/search-core/query/parse.js';
import { Searcher } from '../../dist/search-core/query/searcher.js';

const LIMITS = { deadlineMs: 1e9, postingsMax: 1e12 };

/** Opens the index of a directory; builds it of `pages()` where the directory is empty. */
export async function openSearcher(directory, pages) {
  const isBuilt = existsSync(directory) && readdirSync(directory).length > 0;
  if (!isBuilt) await buildIndex(directory, pages());
  return new Searcher(Snapshot.open(openDirectory(directory)), () => 0);
}

/** Returns a function from a query to the URLs in both orders; `openSearcher` for the index. */
export async function open(directory, pages) {
  const searcher = await openSearcher(directory, pages);
  const { snapshot } = searcher;
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
