/** `npm run index -- jsonl FILE|-`: a JSON Lines file replaces the index or is added, resumable. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { openInput } from './input.js';
import { jsonlPages } from './jsonl.js';
import { type CommandPorts, type LoadOptions, loadResumable } from './load.js';
import type { Page } from './page.js';
import type { Report } from './report.js';
import type { Checkpoint } from './sink.js';
import { createTally, type Drop } from './tally.js';

/** How far a file was read, and what became of its lines. */
interface Position {
  readonly lines: number;
  readonly kept: number;
  readonly drops: readonly Drop[];
}

const START: Position = { lines: 0, kept: 0, drops: [] };
/** UTF-16 code units of text between two checkpoints: a few seconds of work. */
const CHECKPOINT_LENGTH = 64_000_000;
/** Bytes at a file's start that tell it from another of its size and time. */
const FIRST_BYTES = 64 * 1024;

export interface JsonlOptions extends LoadOptions {
  /** UTF-16 code units of text between two checkpoints. */
  readonly checkpointLength?: number;
}

/**
 * A file's pages replace the index, or are added to it. A run that was stopped goes on behind the
 * line of its last checkpoint when the same file is loaded again. Standard input, `-`, is read from
 * its start again, but pages that the index got from the lines up to the checkpoint stay.
 */
export async function indexJsonl(
  path: string,
  options: JsonlOptions,
  ports: CommandPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const input = await openInput(path);
  const isStream = path === '-';
  const source = isStream ? 'standard input' : await identityOf(path);
  const job = JSON.stringify({ command: 'jsonl', source, isAddition: options.isAddition });
  let tally = createTally();
  async function* items(
    from: string | undefined,
    has: (url: string) => boolean,
  ): AsyncIterable<Page | Checkpoint> {
    const position = from === undefined ? START : (JSON.parse(from) as Position);
    tally = createTally(isStream ? START : position);
    let lines = 0;
    let length = 0;
    const onLine = (line: number): void => {
      lines = line;
      const { kept, dropped } = tally;
      const [bytes, totalBytes] = [input.readBytes(), input.sizeBytes];
      ports.progress.show({ unit: 'lines', units: line, kept, dropped, bytes, totalBytes });
    };
    const skipped = isStream ? 0 : position.lines;
    for await (const page of jsonlPages(input.bytes, tally, onLine, skipped)) {
      if (lines <= position.lines && has(page.url)) continue;
      yield page;
      length += page.text.length;
      if (length < (options.checkpointLength ?? CHECKPOINT_LENGTH)) continue;
      const reached: Position = { lines, kept: tally.kept, drops: tally.drops() };
      yield { checkpoint: JSON.stringify(reached) };
      length = 0;
    }
  }
  const load = { command: 'jsonl', job, items, tally: () => tally, startedMs };
  return loadResumable(load, options, ports);
}

/** What tells a file from another, also from its own later self. */
async function identityOf(path: string): Promise<object> {
  const file = await open(path, 'r');
  try {
    const { size, mtimeMs } = await file.stat();
    const { bytesRead, buffer } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const first = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    return { size, mtimeMs, first };
  } finally {
    await file.close();
  }
}
