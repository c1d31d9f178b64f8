import type { Snapshot } from './snapshot.js';

/** The URLs of all searchable pages, segment after segment. Reads the whole store once. */
export function* addressesOf({ leaves }: Snapshot): Generator<string> {
  for (const { segment, deleted } of leaves) {
    let document = 0;
    for (const url of segment.stored.urls()) {
      if (!deleted.has(document)) yield url;
      document += 1;
    }
  }
}
