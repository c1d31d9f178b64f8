import type { Page } from './page.js';

/** What an index holds after a load. */
export interface SinkResult {
  /** Pages in the whole index now. */
  readonly pages: number;
}

/**
 * Where pages go: the index, or a list in tests. A load is atomic: what was there serves until it
 * is complete, and a load that fails (the iteration throws) changes nothing.
 */
export interface PageSink {
  /** Makes the index hold exactly `pages`; of two pages with one URL the later one stays. */
  replace(pages: AsyncIterable<Page>): Promise<SinkResult>;
  /** Adds pages (replacing those with the same URL) and removes the `gone` URLs. */
  update(pages: AsyncIterable<Page>, gone: Iterable<string>): Promise<SinkResult>;
}
