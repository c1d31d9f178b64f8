import type { Page } from './page.js';

/** What an index holds after a load. */
export interface SinkResult {
  /** Pages in the whole index now. */
  readonly pages: number;
}

/** Says how far a source was read: `checkpoint` is the source's own, for a later run to read. */
export interface Checkpoint {
  readonly checkpoint: string;
}

/** A load whose source can be read on from a checkpoint. */
export interface ResumableLoad {
  /** Names the source and what is done with it: only the same load goes on with another one. */
  readonly job: string;
  readonly isAddition: boolean;
  /**
   * Pages, and checkpoints for those before them, after the checkpoint `from` of an earlier run;
   * `has` says whether the index would hold a URL by then.
   */
  readonly items: (
    from: string | undefined,
    has: (url: string) => boolean,
  ) => AsyncIterable<Page | Checkpoint>;
}

/**
 * Where pages go: the index, or a list in tests. A load is atomic: what was there serves until it
 * is complete, and a load that fails (the iteration throws) changes nothing.
 */
export interface PageSink {
  /** Names the index among those that one folder or cluster may have. */
  readonly place: string;
  /** Those of `urls` whose page the index holds now. */
  held(urls: readonly string[]): Promise<ReadonlySet<string>>;
  /** The URLs of all pages that it holds, in no order. */
  addresses(): AsyncIterable<string>;
  /** Makes the index hold exactly `pages`; of two pages with one URL the later one stays. */
  replace(pages: AsyncIterable<Page>): Promise<SinkResult>;
  /** Adds pages (replacing those with the same URL) and removes the `gone` URLs. */
  update(pages: AsyncIterable<Page>, gone: Iterable<string>): Promise<SinkResult>;
  /** Like `replace` or `update`, and goes on where a load of the same job was stopped. */
  resume(load: ResumableLoad): Promise<SinkResult>;
}

/** A resumable load for a sink that keeps no checkpoints: from the start, pages only. */
export async function* allPages({ items }: ResumableLoad): AsyncIterable<Page> {
  for await (const item of items(undefined, () => false)) if ('url' in item) yield item;
}
