/** What all commands share: their ports, and the last step, in which pages go into the index. */
import type { Page } from './page.js';
import type { Progress } from './progress.js';
import { dropLines, type Report } from './report.js';
import type { PageSink, ResumableLoad, SinkResult } from './sink.js';
import type { Spool } from './spool.js';
import type { Tally } from './tally.js';

/** What a command may use; a test hands in its own. */
export interface CommandPorts {
  readonly sink: PageSink;
  readonly progress: Progress;
  /** Aborts when the operator wants to stop. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

export interface LoadOptions {
  readonly index: string;
  /** Adds to what the index holds instead of replacing it. */
  readonly isAddition: boolean;
}

/** Thrown for what the operator can mend: shown without a stack. */
export class IngestError extends Error {
  override readonly name = 'IngestError';
}

export interface Load {
  readonly command: string;
  readonly pages: AsyncIterable<Page>;
  readonly tally: Tally;
  /** When the command started, by `nowMs`. */
  readonly startedMs: number;
  /** URLs to remove from the index. */
  readonly gone?: readonly string[];
  /** Nothing new is a fine outcome: the run only looked for changes. */
  readonly isUpdate?: boolean;
}

/** Loads the pages in one commit. @throws IngestError when there are none, or when stopped */
export async function load(
  { command, pages, tally, startedMs, gone = [], isUpdate = false }: Load,
  { index, isAddition }: LoadOptions,
  { sink, progress, signal, nowMs }: CommandPorts,
): Promise<Report> {
  const guarded = unlessAborted(isUpdate ? pages : some(pages, () => tally), signal);
  const result = isAddition ? await sink.update(guarded, gone) : await sink.replace(guarded);
  progress.end();
  return reportOf({ command, index, tally, seconds: (nowMs() - startedMs) / 1_000 }, result);
}

/** Loads in one commit what can be read on from a checkpoint. @throws like `load` */
export async function loadResumable(
  load: Omit<ResumableLoad, 'isAddition'> & {
    readonly command: string;
    /** The counts, which start where `items` was told to go on. */
    readonly tally: () => Tally;
    readonly startedMs: number;
  },
  { index, isAddition }: LoadOptions,
  { sink, progress, signal, nowMs }: CommandPorts,
): Promise<Report> {
  const { command, job, startedMs } = load;
  const items: ResumableLoad['items'] = (from, has) =>
    unlessAborted(some(load.items(from, has), load.tally), signal);
  const result = await sink.resume({ job, isAddition, items });
  progress.end();
  const seconds = (nowMs() - startedMs) / 1_000;
  return reportOf({ command, index, tally: load.tally(), seconds }, result);
}

function reportOf(
  run: { command: string; index: string; tally: Tally; seconds: number },
  { pages }: SinkResult,
): Report {
  const { command, index, tally, seconds } = run;
  const { kept, dropped } = tally;
  return { command, index, kept, dropped, drops: tally.drops(), indexPages: pages, seconds };
}

/** Loads what a finished job gathered, and removes the job. */
export async function loadSpool(
  job: Omit<Load, 'pages'> & { readonly spool: Spool<unknown> },
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  if (job.tally.kept === 0 && job.isUpdate !== true) await job.spool.remove();
  const report = await load({ ...job, pages: job.spool.pages() }, options, ports);
  await job.spool.remove();
  return report;
}

async function* unlessAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  for await (const item of items) {
    if (signal.aborted) throw new IngestError('stopped; the index is as it was');
    yield item;
  }
}

/** Fails instead of ending without a page: an index is never replaced by nothing. */
async function* some<T>(items: AsyncIterable<T>, tally: () => Tally): AsyncIterable<T> {
  yield* items;
  if (tally().kept > 0) return;
  const reasons = dropLines(tally().drops());
  throw new IngestError(
    ['no usable page was found; the index is as it was', ...reasons].join('\n'),
  );
}
