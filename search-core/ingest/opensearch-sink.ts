import { type OpenSearchAddress, placeOf } from '../engines/opensearch/api.js';
import type { Layout } from '../engines/opensearch/documents.js';
import { OpenSearchEngine } from '../engines/opensearch/engine.js';
import { replaceIndex } from '../engines/opensearch/replace.js';
import type { Page } from './page.js';
import { allPages, type PageSink, type SinkResult } from './sink.js';

/**
 * Loads into an OpenSearch index. Replacing it is atomic: a new index takes its name at the end.
 * Additions are found together at the end, too, unless the load fails: then those that came before it
 * are found after the next one. The same load again leaves the same pages.
 */
export function openSearchSink(address: OpenSearchAddress, layout: Layout): PageSink {
  const engine = new OpenSearchEngine(address, layout);
  const replace = async (pages: AsyncIterable<Page>): Promise<SinkResult> => {
    await replaceIndex(address, layout, pages);
    return engine.stats();
  };
  const update = async (
    pages: AsyncIterable<Page>,
    gone: Iterable<string>,
  ): Promise<SinkResult> => {
    await engine.load(changesOf(pages, gone));
    return engine.stats();
  };
  return {
    place: placeOf(address),
    held: (urls) => engine.held(urls),
    addresses: () => engine.addresses(),
    replace,
    update,
    resume: (load) => (load.isAddition ? update(allPages(load), []) : replace(allPages(load))),
  };
}

async function* changesOf(
  pages: AsyncIterable<Page>,
  gone: Iterable<string>,
): AsyncGenerator<[string, Page | null]> {
  for (const url of gone) yield [url, null];
  for await (const page of pages) yield [page.url, page];
}
