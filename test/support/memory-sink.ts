import type { Page } from '../../search-core/ingest/page.js';
import { allPages, type PageSink } from '../../search-core/ingest/sink.js';

/** A sink that keeps its pages in a map, with the same promise: a failed load changes nothing. */
export function memorySink(): PageSink & { pages(): Page[] } {
  let held = new Map<string, Page>();
  const load = async (into: Map<string, Page>, pages: AsyncIterable<Page>): Promise<void> => {
    for await (const page of pages) into.set(page.url, page);
    held = into;
  };
  return {
    place: 'memory',
    held: (urls) => Promise.resolve(new Set(urls.filter((url) => held.has(url)))),
    addresses: () => inTurn([...held.keys()]),
    replace: async (pages) => {
      await load(new Map(), pages);
      return { pages: held.size };
    },
    update: async (pages, gone) => {
      const next = new Map(held);
      for (const url of gone) next.delete(url);
      await load(next, pages);
      return { pages: held.size };
    },
    resume: async (job) => {
      await load(job.isAddition ? held : new Map<string, Page>(), allPages(job));
      return { pages: held.size };
    },
    pages: () => [...held.values()],
  };
}

// eslint-disable-next-line @typescript-eslint/require-await -- the port is asynchronous
async function* inTurn(urls: readonly string[]): AsyncIterable<string> {
  yield* urls;
}
