/** Threads that extract pages, each page within a time and a memory limit. */
import { Worker } from 'node:worker_threads';
import type { ExtractedPage } from './extract.js';
import type { ExtractAnswer, ExtractJob } from './worker.js';

type ExtractFault =
  /** The page took longer than the limit; its thread was ended. */
  | 'extraction_timeout'
  /** The parsers failed on it, or ran out of memory. */
  | 'extraction_failed';

export interface ExtractPool {
  readonly threads: number;
  /** Extracts one page; waits while all threads are busy. */
  extract(job: ExtractJob): Promise<ExtractedPage | ExtractFault>;
  close(): Promise<void>;
}

export interface PoolLimits {
  readonly threads: number;
  /** Milliseconds for one page. */
  readonly timeoutMs: number;
  /** Megabytes of heap for one thread. */
  readonly heapMb: number;
}

const POOL_LIMITS: PoolLimits = { threads: 2, timeoutMs: 10_000, heapMb: 1_024 };

/** Starts a pool; threads start with their first page. */
export function createExtractPool(limits: PoolLimits = POOL_LIMITS): ExtractPool {
  const idle: (Worker | undefined)[] = Array<undefined>(limits.threads).fill(undefined);
  const waiting: ((worker: Worker | undefined) => void)[] = [];
  const release = (worker: Worker | undefined): void => {
    const next = waiting.shift();
    if (next) next(worker);
    else idle.push(worker);
  };
  const claim = async (): Promise<Worker> => {
    const free = idle.length > 0;
    const worker = free
      ? idle.pop()
      : await new Promise<Worker | undefined>((resolve) => waiting.push(resolve));
    return worker ?? startWorker(limits.heapMb);
  };
  return {
    threads: limits.threads,
    extract: async (job) => {
      const worker = await claim();
      const answer = await askWorker(worker, job, limits.timeoutMs);
      const isAlive = typeof answer !== 'string';
      if (!isAlive) await worker.terminate();
      release(isAlive ? worker : undefined);
      return isAlive ? (answer.page ?? 'extraction_failed') : answer;
    },
    close: async () => {
      await Promise.all(idle.splice(0).map(async (worker) => worker?.terminate()));
    },
  };
}

function startWorker(heapMb: number): Worker {
  const worker = new Worker(new URL('./worker.js', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  worker.unref();
  // Every job listens for its own worker's end; this keeps an idle one's from ending the program.
  worker.on('error', () => undefined);
  return worker;
}

function askWorker(
  worker: Worker,
  job: ExtractJob,
  timeoutMs: number,
): Promise<ExtractAnswer | ExtractFault> {
  return new Promise((resolve) => {
    const settle = (answer: ExtractAnswer | ExtractFault): void => {
      clearTimeout(timer);
      worker.off('message', settle).off('error', onEnd).off('exit', onEnd);
      resolve(answer);
    };
    const onEnd = (): void => settle('extraction_failed');
    const timer = setTimeout(() => settle('extraction_timeout'), timeoutMs);
    worker.once('message', settle).once('error', onEnd).once('exit', onEnd);
    worker.postMessage(job);
  });
}
