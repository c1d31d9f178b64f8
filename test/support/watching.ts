import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExtractPool } from '../../search-core/ingest/html/pool.js';
import type { Page } from '../../search-core/ingest/page.js';
import type { PageSink } from '../../search-core/ingest/sink.js';
import { clusterSink } from '../../search-core/ingest/watch/cluster-sink.js';
import type { LivingSink } from '../../search-core/ingest/watch/living-sink.js';
import { watchSources, type WatchReport } from '../../search-core/ingest/watch/run.js';
import { memorySink } from './memory-sink.js';
import { temporary } from './temporary.js';

export interface Watching {
  readonly index: string;
  readonly sink: PageSink & { pages(): Page[] };
  /** Lines that the watch said. */
  readonly said: string[];
  /** Writes the file of sources. */
  sources(file: object): void;
  /** Watches until nothing is due. */
  once(
    openSink?: (stamp: string | undefined) => LivingSink,
    signal?: AbortSignal,
  ): Promise<WatchReport>;
  /** Moves the watch's clock. */
  pass(seconds: number): void;
}

/** A watch over a sink in memory, on a clock that runs as the real one and can be moved. */
export function watching(pool: ExtractPool): Watching {
  const directory = temporary();
  const index = join(directory, 'data', 'index');
  const sourcesFile = join(directory, 'data', 'sources.json');
  mkdirSync(dirname(index));
  const sink = memorySink();
  const said: string[] = [];
  let passedMs = 0;
  const begunMs = Date.UTC(2026, 0, 1);
  return {
    index,
    sink,
    said,
    sources: (file) => writeFileSync(sourcesFile, JSON.stringify(file)),
    pass: (seconds) => {
      passedMs += seconds * 1_000;
    },
    once: (openSink = () => clusterSink(sink), signal = new AbortController().signal) =>
      watchSources(
        { index, sourcesFile, isOnce: true, timeoutMs: 5_000, bytesMax: 300_000 },
        {
          openSink,
          isAllowedAddress: () => true,
          resolve: () => Promise.resolve(['127.0.0.1']),
          nowMs: () => begunMs + passedMs + performance.now(),
          sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
          signal,
          pool,
          say: (line) => void said.push(line),
        },
      ),
  };
}
