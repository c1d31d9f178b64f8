import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import type { ThreadNews } from './campaign-thread.js';
import { addCounts, type Campaign } from './campaign.js';

export interface ThreadedOptions {
  /** The first seed, and how many. */
  readonly from: number;
  readonly seeds: number;
  readonly threads: number;
  /** Whether payers have channels in these worlds, too. */
  readonly hasChannels?: boolean;
  /** Told every few seconds how far it is, and of every violation. */
  readonly progress?: (line: string) => void;
}

const PROGRESS_MS = 10_000;

/**
 * Runs a campaign on several threads, each with its range of the seeds.
 *
 * @throws when a thread ends before its worlds do: that is a bug of the simulator.
 */
export async function runThreads(options: ThreadedOptions): Promise<Campaign> {
  const { from, seeds, progress, hasChannels = false } = options;
  const startedMs = performance.now();
  const ranges = rangesOf(from, seeds, options.threads);
  const ran = ranges.map(() => 0);
  let violated = 0;
  const elapsed = () => (performance.now() - startedMs) / 1000;
  const timer = setInterval(() => {
    const worlds = ran.reduce((sum, one) => sum + one, 0);
    progress?.(`${worlds} of ${seeds} worlds, ${violated} violated, ${elapsed().toFixed(0)} s`);
  }, PROGRESS_MS);
  try {
    const parts = await Promise.all(
      ranges.map((range, index) =>
        runThread({ ...range, hasChannels }, (news) => {
          if (news.kind === 'ran') ran[index] = news.worlds;
          if (news.kind !== 'violated') return;
          violated += 1;
          progress?.(news.line);
        }),
      ),
    );
    return { ...joined(from, parts), hasChannels, seconds: elapsed() };
  } finally {
    clearInterval(timer);
  }
}

interface Range {
  readonly from: number;
  readonly seeds: number;
}

function rangesOf(from: number, seeds: number, threads: number): readonly Range[] {
  const count = Math.max(1, Math.min(threads, seeds));
  const start = (index: number) => from + Math.floor((seeds * index) / count);
  return Array.from({ length: count }, (_, index) => ({
    from: start(index),
    seeds: start(index + 1) - start(index),
  }));
}

function runThread(
  range: Range & Pick<Campaign, 'hasChannels'>,
  onNews: (news: ThreadNews) => void,
): Promise<Campaign> {
  const worker = new Worker(new URL('campaign-thread.js', import.meta.url), { workerData: range });
  return new Promise((resolve, reject) => {
    worker.on('message', (news: ThreadNews) => {
      onNews(news);
      if (news.kind === 'done') resolve(news.campaign);
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error(`the thread of seed ${range.from} ended too early`)));
  });
}

function joined(
  from: number,
  parts: readonly Campaign[],
): Omit<Campaign, 'seconds' | 'hasChannels'> {
  const counts = new Map<string, number>();
  for (const part of parts) addCounts(counts, part.counts);
  return {
    from,
    seeds: parts.reduce((sum, { seeds }) => sum + seeds, 0),
    simulatedSeconds: parts.reduce((sum, part) => sum + part.simulatedSeconds, 0),
    counts,
    violated: parts.flatMap((part) => part.violated),
  };
}
