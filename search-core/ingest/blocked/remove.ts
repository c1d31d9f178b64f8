/** `npm run index -- delete NAME…` and `takedown NAME…`: pages leave the index. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LockedError } from '../../disk/lock.js';
import { IngestError } from '../load.js';
import type { Page } from '../page.js';
import type { PageSink, SinkResult } from '../sink.js';
import { addToBlocklist } from './blocklist.js';
import { type AddressPattern, matchesPattern, parsePattern } from './pattern.js';

export interface Removal extends SinkResult {
  /** Pages that left. */
  readonly removed: number;
}

/** How long a removal waits for another process that writes the index. */
const WAIT_MS = 10 * 60_000;
const LOOK_MS = 100;

/** Deletes the pages that the names stand for; a later load may bring them back. */
export async function removePages(sink: PageSink, names: readonly string[]): Promise<Removal> {
  const patterns = parseNames(names);
  return whenFree(async () => {
    const gone = new Set<string>();
    const addresses = patterns.flatMap((one) => (one.kind === 'address' ? one.urls : []));
    for (const url of await sink.held(addresses)) gone.add(url);
    const wide = patterns.filter(({ kind }) => kind !== 'address');
    if (wide.length > 0) {
      for await (const url of sink.addresses()) {
        if (wide.some((pattern) => matchesPattern(url, pattern))) gone.add(url);
      }
    }
    const result = await sink.update(noPages(), gone);
    return { ...result, removed: gone.size };
  });
}

/** Blocks the names for good, then deletes what they stand for. */
export async function takeDown(
  sink: PageSink,
  blocklistFile: string,
  names: readonly string[],
  why: string,
): Promise<Removal> {
  parseNames(names);
  // First the list: a load that writes at this moment leaves its pages to the deletion behind it.
  addToBlocklist(blocklistFile, names, why);
  return removePages(sink, names);
}

function parseNames(names: readonly string[]): AddressPattern[] {
  return names.map((name) => {
    const pattern = parsePattern(name);
    if (pattern !== undefined) return pattern;
    throw new IngestError(
      `not understood: ${name}. Name an address (https://example.org/page), a host (example.org), ` +
        'a host with all below it (*.example.org), or a pattern (example.org/private/*)',
    );
  });
}

/** Does it as soon as no other process writes the index. */
async function whenFree<T>(job: () => Promise<T>): Promise<T> {
  const endMs = performance.now() + WAIT_MS;
  for (;;) {
    try {
      return await job();
    } catch (error) {
      if (!(error instanceof LockedError) || performance.now() > endMs) throw error;
      await sleep(LOOK_MS);
    }
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- an empty stream of pages
async function* noPages(): AsyncIterable<Page> {
  yield* [];
}
