/** The programs behind `npm run index`: each fills the index from one kind of source. */
import { openInput } from './input.js';
import { jsonlPages } from './jsonl.js';
import type { Page } from './page.js';
import type { Progress, ProgressState } from './progress.js';
import { dropLines, type Report } from './report.js';
import type { PageSink } from './sink.js';
import { starterPages } from './starter.js';
import { createTally, type Tally } from './tally.js';

/** What a command may use; a test hands in its own. */
export interface CommandPorts {
  readonly sink: PageSink;
  readonly progress: Progress;
  /** Aborts when the operator wants to stop. */
  readonly signal: AbortSignal;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** Thrown for what the operator can mend: shown without a stack. */
export class IngestError extends Error {
  override readonly name = 'IngestError';
}

export interface LoadOptions {
  readonly index: string;
  /** Adds to what the index holds instead of replacing it. */
  readonly isAddition: boolean;
}

/** `npm run index -- FILE.jsonl`: a file's pages replace the index, or are added to it. */
export async function indexJsonl(
  path: string,
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const input = await openInput(path);
  const tally = createTally();
  let units = 0;
  const pages = jsonlPages(input.bytes, tally, (number) => {
    units = number;
    const { kept, dropped } = tally;
    const bytes = input.readBytes();
    ports.progress.show({
      unit: 'lines',
      units,
      kept,
      dropped,
      bytes,
      totalBytes: input.sizeBytes,
    });
  });
  return load('jsonl', pages, tally, options, ports);
}

/** `npm run index -- starter`: the READMEs below `nodeModulesDir` replace the index. */
export async function indexStarter(
  nodeModulesDir: string,
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const tally = createTally();
  const state = (): ProgressState => {
    return { unit: 'packages', units: tally.kept, kept: tally.kept, dropped: 0, bytes: 0 };
  };
  const pages = counted(starterPages(nodeModulesDir), () => {
    tally.keep();
    ports.progress.show(state());
  });
  return load('starter', pages, tally, options, ports);
}

async function* counted(pages: AsyncIterable<Page>, onPage: () => void): AsyncIterable<Page> {
  for await (const page of pages) {
    onPage();
    yield page;
  }
}

async function load(
  command: string,
  pages: AsyncIterable<Page>,
  tally: Tally,
  { index, isAddition }: LoadOptions,
  { sink, progress, signal, nowMs }: CommandPorts,
): Promise<Report> {
  const startedMs = nowMs();
  const guarded = someUnlessAborted(pages, tally, signal);
  const result = isAddition ? await sink.update(guarded, []) : await sink.replace(guarded);
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

/** Fails instead of ending without a page: an index is never replaced by nothing. */
async function* someUnlessAborted(
  pages: AsyncIterable<Page>,
  tally: Tally,
  signal: AbortSignal,
): AsyncIterable<Page> {
  let isEmpty = true;
  for await (const page of pages) {
    if (signal.aborted) throw new IngestError('stopped; the index is as it was');
    isEmpty = false;
    yield page;
  }
  if (!isEmpty) return;
  const reasons = dropLines(tally.drops());
  throw new IngestError(
    ['no usable page was found; the index is as it was', ...reasons].join('\n'),
  );
}
