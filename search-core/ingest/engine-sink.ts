import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { openDirectory } from '../disk/filesystem.js';
import { addressesOf } from '../index/addresses.js';
import { buildIndex } from '../index/build.js';
import { Snapshot } from '../index/snapshot.js';
import { openWriter } from '../index/open-writer.js';
import type { PageSink, SinkResult } from './sink.js';

/** Loads into the embedded engine's index of one directory; each load is one commit. */
export function engineSink(indexDir: string): PageSink {
  const open = (): Snapshot => Snapshot.open(openDirectory(indexDir));
  const result = (): SinkResult => {
    const snapshot = open();
    const { pages } = snapshot;
    snapshot.close();
    return { pages };
  };
  return {
    place: basename(indexDir),
    held: (urls) => {
      if (!existsSync(indexDir)) return Promise.resolve(new Set());
      const snapshot = open();
      const held = new Set(urls.filter((url) => snapshot.holds(url)));
      snapshot.close();
      return Promise.resolve(held);
    },
    addresses: () => addressesIn(open),
    replace: async (pages) => {
      await buildIndex(indexDir, pages);
      return result();
    },
    update: async (pages, gone) => {
      const writer = await openWriter(indexDir);
      try {
        for (const url of gone) writer.delete(url);
        for await (const page of pages) await writer.put(page);
        await writer.commit();
      } finally {
        await writer.close();
      }
      return result();
    },
    resume: async ({ job, isAddition, items }) => {
      const writer = await openWriter(indexDir, undefined, job);
      try {
        if (writer.note === undefined && !isAddition) writer.clear();
        for await (const item of items(writer.note, (url) => writer.has(url))) {
          if ('url' in item) await writer.put(item);
          else writer.checkpoint(item.checkpoint);
        }
        await (isAddition ? writer.commit() : writer.compact());
      } finally {
        await writer.close();
      }
      return result();
    },
  };
}

// eslint-disable-next-line @typescript-eslint/require-await -- the port is the same for indexes on other machines
async function* addressesIn(open: () => Snapshot): AsyncIterable<string> {
  const snapshot = open();
  try {
    yield* addressesOf(snapshot);
  } finally {
    snapshot.close();
  }
}
