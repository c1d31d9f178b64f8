/** What all commands share: their ports, and the last step, in which pages go into the index. */
import type { Page } from './page.js';
import type { Progress } from './progress.js';
import { dropLines, type Report } from './report.js';
import type { PageSink } from './sink.js';
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
  const guarded = unlessAborted(isUpdate ? pages : some(pages, tally), signal);
  const result = isAddition ? await sink.update(guarded, gone) : await sink.replace(guarded);
  progress.end();
  return {
    command,
    index,
    kept: tally.kept,
    dropped: tally.dropped,
    drops: tally.drops(),
    indexPages: result.pages,
    seconds: (nowMs() - startedMs) / 1_000,
  };
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

async function* unlessAborted(
  pages: AsyncIterable<Page>,
  signal: AbortSignal,
): AsyncIterable<Page> {
  for await (const page of pages) {
    if (signal.aborted) throw new IngestError('stopped; the index is as it was');
    yield page;
  }
}

/** Fails instead of ending without a page: an index is never replaced by nothing. */
async function* some(pages: AsyncIterable<Page>, tally: Tally): AsyncIterable<Page> {
  let isEmpty = true;
  for await (const page of pages) {
    isEmpty = false;
    yield page;
  }
  if (!isEmpty) return;
  const reasons = dropLines(tally.drops());
  throw new IngestError(
    ['no usable page was found; the index is as it was', ...reasons].join('\n'),
  );
}
