/** An index that is kept fresh: many small commits, merged in between, beside other commands. */
import { existsSync } from 'node:fs';
import { openDirectory } from '../../disk/filesystem.js';
import { readCommit } from '../../index/commit.js';
import { openWriter } from '../../index/open-writer.js';
import type { IndexWriter } from '../../index/writer.js';
import { mergeOnThread } from '../../threads/merge-runner.js';
import { engineSink } from '../engine-sink.js';
import type { Page } from '../page.js';
import type { PageSink, SinkResult } from '../sink.js';

export interface LivingSink extends Pick<PageSink, 'place' | 'held' | 'addresses'> {
  /** Puts pages and deletes URLs in one commit. @throws LockedError while another process writes */
  update(pages: AsyncIterable<Page>, gone: Iterable<string>): Promise<SinkResult>;
  /** Whether somebody else has changed the index since the last commit of this watch. */
  isForeign(): Promise<boolean>;
  /** The index is known as it is now: from here on changes of others count. */
  accept(): Promise<void>;
  /** Names the state of the index after the last commit or `accept`. */
  readonly stamp: string;
  close(): Promise<void>;
}

/** The open writer, and how many commits and merges still need it. */
interface Open {
  readonly writer: IndexWriter;
  users: number;
}

/**
 * The embedded engine's index. The writer stays open while small segments are merged on a thread of
 * their own, so that commits need not wait for a merge; without one, the index is free for others
 * between two commits.
 * @param stamp the `stamp` of the run before
 */
export function livingSink(indexDir: string, stamp: string | undefined): LivingSink {
  const sink = engineSink(indexDir);
  let last = stamp ?? '';
  let hasForeign = false;
  let open: Open | undefined;
  const current = (): string => stampOf(indexDir);
  const take = async (): Promise<Open> => {
    if (!open) {
      open = { writer: await openWriter(indexDir, mergeOnThread(indexDir)), users: 0 };
      if (current() !== last) hasForeign = true;
    }
    open.users += 1;
    return open;
  };
  const release = async (used: Open): Promise<void> => {
    used.users -= 1;
    if (used.users > 0) return;
    open = undefined;
    last = current();
    await used.writer.close();
  };
  let merging: Promise<void> = Promise.resolve();
  return {
    place: sink.place,
    held: (urls) => sink.held(urls),
    addresses: () => sink.addresses(),
    update: async (pages, gone) => {
      const used = await take();
      try {
        for (const url of gone) used.writer.delete(url);
        for await (const page of pages) await used.writer.put(page);
        await used.writer.commit();
      } catch (error) {
        // What was put and not committed must not come with the next commit.
        await merging.catch(() => undefined);
        await release(used);
        throw error;
      }
      merging = used.writer.merge().finally(() => release(used));
      merging.catch(() => undefined);
      last = current();
      return { pages: used.writer.pages };
    },
    isForeign: () => Promise.resolve(hasForeign || (!open && current() !== last)),
    accept: () => {
      hasForeign = false;
      if (!open) last = current();
      return Promise.resolve();
    },
    get stamp() {
      return last;
    },
    close: () => merging.catch(() => undefined),
  };
}

/** A generation alone says too little: an index that was deleted begins again at the first. */
function stampOf(indexDir: string): string {
  if (!existsSync(indexDir)) return '';
  const { generation, segments } = readCommit(openDirectory(indexDir));
  const names = segments.map(({ meta }) => `${meta.name}:${meta.documents}:${meta.bodyWords}`);
  return `${generation} ${names.join(' ')}`;
}
