/** `npm run index -- warc|wet FILE…`: the pages of web archives, resumable. */
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { createGate, type Gate } from '../gate.js';
import { createExtractPool, type ExtractPool } from '../html/pool.js';
import { type CommandPorts, IngestError, type LoadOptions, loadSpool } from '../load.js';
import type { Page } from '../page.js';
import type { Report } from '../report.js';
import { doAlone, jobDirectory, openSpool, type Spool } from '../spool.js';
import { createTally, type Drop, type Tally } from '../tally.js';
import { cutAtWord } from '../text.js';
import { framesOf, type Frame } from './frames.js';
import { type HtmlSource, readRecord } from './record.js';
import { segmentsOf } from './segments.js';

/** Where a run stands: records that were read of which file, and what became of them. */
interface Position {
  readonly file: number;
  readonly records: number;
  readonly kept: number;
  readonly drops: readonly Drop[];
}

/** Records are extracted side by side up to these bounds. */
const BATCH_RECORDS = 64;
const BATCH_BYTES = 32 * 1024 * 1024;
/** A checkpoint is made after so many records or kept characters. */
const CHECKPOINT_RECORDS = 2_000;
const CHECKPOINT_LENGTH = 8_000_000;
const TITLE_LENGTH = 200;

/** Reads WARC or WET files (they may be mixed) into the index. */
export async function indexArchives(
  command: 'warc' | 'wet',
  paths: readonly string[],
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const files = await Promise.all(paths.map(fileFacts));
  const directory = jobDirectory({ index: options.index, place: ports.sink.place }, command, files);
  return doAlone(directory, () => readArchives(command, files, directory, options, ports));
}

interface FileFacts {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

async function readArchives(
  command: string,
  files: readonly FileFacts[],
  directory: string,
  options: LoadOptions,
  ports: CommandPorts,
): Promise<Report> {
  const startedMs = ports.nowMs();
  const spool = await openSpool<Position>(directory);
  const run = await startRun(spool, ports);
  run.totalBytes = files.reduce((sum, file) => sum + file.size, 0);
  try {
    for (let at = run.position.file; at < files.length; at += 1) {
      await readFile(files[at]?.path ?? '', at, run);
      run.doneBytes += files[at]?.size ?? 0;
    }
    await checkpoint(run, files.length, 0);
  } finally {
    await run.pool.close();
  }
  return loadSpool({ command, spool, tally: run.tally, startedMs }, options, ports);
}

async function fileFacts(path: string): Promise<FileFacts> {
  const { size, mtimeMs } = await stat(path);
  return { path: resolve(path), size, mtimeMs };
}

interface Run {
  readonly spool: Spool<Position>;
  readonly position: Position;
  readonly tally: Tally;
  readonly gate: Gate;
  readonly pool: ExtractPool;
  readonly ports: CommandPorts;
  /** Kept since the last checkpoint. */
  fresh: Page[];
  freshLength: number;
  freshRecords: number;
  records: number;
  totalBytes: number;
  doneBytes: number;
}

async function startRun(spool: Spool<Position>, ports: CommandPorts): Promise<Run> {
  const position = spool.state?.position ?? { file: 0, records: 0, kept: 0, drops: [] };
  const gate = createGate();
  for await (const page of spool.pages()) gate.remember(page);
  return {
    spool,
    position,
    tally: createTally(position),
    gate,
    pool: createExtractPool(),
    ports,
    fresh: [],
    freshLength: 0,
    freshRecords: 0,
    records: 0,
    totalBytes: 0,
    doneBytes: 0,
  };
}

/** One record with its number in the file, counted from 1. */
interface Numbered {
  readonly frame: Frame;
  readonly place: string;
}

async function readFile(path: string, at: number, run: Run): Promise<void> {
  const skip = at === run.position.file ? run.position.records : 0;
  let records = 0;
  let batch: Numbered[] = [];
  let batchBytes = 0;
  const flush = async (): Promise<void> => {
    await takeIn(batch, run);
    batch = [];
    batchBytes = 0;
    if (run.ports.signal.aborted) {
      await checkpoint(run, at, records);
      throw new IngestError('stopped; the same command goes on from here, the index is as it was');
    }
    if (run.freshRecords >= CHECKPOINT_RECORDS || run.freshLength >= CHECKPOINT_LENGTH) {
      await checkpoint(run, at, records);
    }
  };
  const ports = {
    onBytes: (read: number) => showProgress(run, records, read),
    onDamage: (offset: number) => {
      if (records >= skip) run.tally.drop('damaged_gzip', `${basename(path)} byte ${offset}`);
    },
  };
  for await (const segment of segmentsOf(path, ports)) {
    for await (const frame of framesOf(segment)) {
      records += 1;
      if (records <= skip) continue;
      batch.push({ frame, place: `${basename(path)} record ${records}` });
      batchBytes += frame.kind === 'record' ? frame.bytes.length : 0;
      if (batch.length >= BATCH_RECORDS || batchBytes >= BATCH_BYTES) await flush();
    }
  }
  await flush();
  if (records === 0) run.tally.drop('no_warc_records', basename(path));
  run.records += records;
}

function showProgress(run: Run, records: number, read: number): void {
  const { kept, dropped } = run.tally;
  const { totalBytes, doneBytes, ports } = run;
  const units = run.records + records;
  const bytes = doneBytes + read;
  ports.progress.show({ unit: 'records', units, kept, dropped, bytes, totalBytes });
}

async function checkpoint(run: Run, file: number, records: number): Promise<void> {
  const { tally } = run;
  const position = { file, records, kept: tally.kept, drops: tally.drops() };
  await run.spool.checkpoint(run.fresh, position);
  run.fresh = [];
  run.freshLength = 0;
  run.freshRecords = 0;
}

/** Extracts a batch side by side, then lets its pages in one after the other, in their order. */
async function takeIn(batch: readonly Numbered[], run: Run): Promise<void> {
  const results = await Promise.all(batch.map(({ frame }) => pageOfFrame(frame, run.pool)));
  for (const [at, result] of results.entries()) {
    const place = batch[at]?.place ?? '';
    const fault = typeof result === 'object' ? run.gate.admit(result) : result;
    if (fault !== undefined) run.tally.drop(fault, place);
    else if (typeof result === 'object') {
      run.tally.keep();
      run.fresh.push(result);
      run.freshLength += result.text.length;
    }
  }
  run.freshRecords += batch.length;
}

/** A page, why there is none, or undefined for a record that never holds one. */
export async function pageOfFrame(
  frame: Frame,
  pool: ExtractPool,
): Promise<Page | string | undefined> {
  if (frame.kind !== 'record') return frame.kind === 'damaged' ? 'damaged_record' : 'too_large';
  const source = await readRecord(frame.bytes);
  if (source === undefined || typeof source === 'string') return source;
  if (source.kind === 'html') return htmlPage(source, pool);
  const [firstLine = ''] = source.text.split('\n', 1);
  return { url: source.url, title: cutAtWord(firstLine, TITLE_LENGTH), text: source.text };
}

async function htmlPage(source: HtmlSource, pool: ExtractPool): Promise<Page | string> {
  if (source.isNoIndex) return 'noindex';
  const found = await pool.extract(source);
  if (typeof found === 'string') return found;
  if (found.isNoIndex) return 'noindex';
  if (found.title === '') return 'no_title';
  return { url: found.canonical ?? source.url, title: found.title, text: found.text };
}
