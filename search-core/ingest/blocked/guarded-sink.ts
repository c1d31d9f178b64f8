import type { Page } from '../page.js';
import type { Checkpoint, PageSink } from '../sink.js';
import { type Blocklist, readBlocklist } from './blocklist.js';

/**
 * A sink that lets no blocked page in. The list is read when the sink asks for its first page: by
 * then it holds the index's lock, so a name that is added later finds the page in the index, where
 * whoever added it deletes it behind this load.
 */
export function guardedSink(sink: PageSink, blocklistFile: string): PageSink {
  const allowed = <T extends Page | Checkpoint>(items: AsyncIterable<T>): AsyncIterable<T> =>
    withoutBlocked(items, () => readBlocklist(blocklistFile));
  return {
    ...sink,
    replace: (pages) => sink.replace(allowed(pages)),
    update: (pages, gone) => sink.update(allowed(pages), gone),
    resume: (load) =>
      sink.resume({ ...load, items: (from, has) => allowed(load.items(from, has)) }),
  };
}

/** The items but for blocked pages, by the list as it is when the first item is asked for. */
export async function* withoutBlocked<T extends Page | Checkpoint>(
  items: AsyncIterable<T>,
  read: () => Blocklist,
): AsyncIterable<T> {
  const blocklist = read();
  for await (const item of items) {
    if (!('url' in item) || !blocklist.blocks(item.url)) yield item;
  }
}
