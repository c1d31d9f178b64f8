import type { OpenSearchAddress } from '../engines/opensearch/api.js';
import { OpenSearchEngine } from '../engines/opensearch/engine.js';
import { replaceIndex } from '../engines/opensearch/replace.js';
import type { Engine } from '../engine.js';
import type { Page } from './page.js';
import { allPages, type PageSink, type SinkResult } from './sink.js';

/** Pages are committed when there are so many, or so many UTF-16 code units of text. */
const BATCH_PAGES = 1_000;
const BATCH_LENGTH = 16_000_000;

/**
 * Loads into an OpenSearch index. Replacing it is atomic: a new index takes its name at the end.
 * Additions to it are not: they are found batch by batch, and a load that fails keeps those that
 * came before; the same load again leaves the same pages.
 */
export function openSearchSink(address: OpenSearchAddress): PageSink {
  const engine = new OpenSearchEngine(address);
  const replace = async (pages: AsyncIterable<Page>): Promise<SinkResult> => {
    await replaceIndex(address, (next) => putAll(next, pages));
    return engine.stats();
  };
  const update = async (
    pages: AsyncIterable<Page>,
    gone: Iterable<string>,
  ): Promise<SinkResult> => {
    await engine.apply([...gone].map((url) => ({ delete: url })));
    await putAll(engine, pages);
    await engine.commit();
    return engine.stats();
  };
  return {
    place: `${address.origin}/${address.index}`,
    held: (urls) => engine.held(urls),
    addresses: () => engine.addresses(),
    replace,
    update,
    resume: (load) => (load.isAddition ? update(allPages(load), []) : replace(allPages(load))),
  };
}

async function putAll(engine: Engine, pages: AsyncIterable<Page>): Promise<void> {
  let count = 0;
  let length = 0;
  for await (const page of pages) {
    await engine.apply([{ put: page }]);
    count += 1;
    length += page.text.length;
    if (count < BATCH_PAGES && length < BATCH_LENGTH) continue;
    await engine.commit();
    count = 0;
    length = 0;
  }
}
