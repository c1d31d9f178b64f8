/** Folders into which somebody drops files: JSON Lines, and web archives. Each is read once. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { openInput } from '../input.js';
import { jsonlPages } from '../jsonl.js';
import type { ExtractPool } from '../html/pool.js';
import { createTally } from '../tally.js';
import { pageOfFrame } from '../warc/archive.js';
import { type Frame, framesOf } from '../warc/frames.js';
import { segmentsOf } from '../warc/segments.js';
import type { Books } from './books.js';
import type { Commits } from './commits.js';
import { takeArchived } from './archived.js';
import type { SourceOf } from './sources.js';

export interface FolderPorts {
  readonly books: Books;
  readonly commits: Commits;
  readonly pool: ExtractPool;
  readonly signal: AbortSignal;
  /** Told when a folder cannot be read, and with an empty text when it can. */
  readonly problem: (name: string, text: string) => void;
}

type FolderSource = SourceOf<'warc' | 'jsonl'>;

const NAMES = {
  jsonl: /^[^.].*\.(?:jsonl|ndjson)(?:\.gz)?$/iu,
  warc: /^[^.].*\.(?:warc|wet|warc\.wet)(?:\.gz)?$/iu,
} as const;
const FILES_MAX = 100_000;
/** Records that are read side by side. */
const RECORDS = 16;

interface Reading {
  readonly path: string;
  readonly source: number;
  readonly stamp: string;
  position: number;
  isDone: boolean;
}

export class Folders {
  /** Files as they were at the last look: one that is still being written changes. */
  private seen = new Map<string, string>();
  private reading: Reading | undefined;
  private running: Promise<void> | undefined;
  private isNew = false;

  constructor(private readonly ports: FolderPorts) {}

  /** Whether there is something to read, or a file that may still be growing. */
  get isBusy(): boolean {
    return this.running !== undefined || this.isNew;
  }

  /** Looks into the folders, and begins with a file that is new and whole. */
  look(sources: ReadonlyMap<number, FolderSource>): void {
    const files = [...sources].flatMap(([id, source]) => this.filesOf(id, source));
    const earlier = this.seen;
    this.seen = new Map(files.map(({ path, stamp }) => [path, stamp]));
    const unread = files.filter(({ path, stamp }) => !this.isRead(path, stamp));
    this.isNew = unread.length > 0;
    if (this.running) return;
    const next = unread.find(({ path, stamp }) => earlier.get(path) === stamp);
    if (!next) return;
    this.running = this.read(next).finally(() => {
      this.running = undefined;
    });
    // Whoever closes the watch waits for it and hears of a failure.
    this.running.catch(() => undefined);
  }

  /** How far the file in hand was read, for the books' transaction. */
  save(): void {
    const { reading } = this;
    if (!reading) return;
    this.ports.books.run(
      'INSERT OR REPLACE INTO files (path, source, stamp, position, done) VALUES (?, ?, ?, ?, ?)',
      ...[reading.path, reading.source, reading.stamp, reading.position, reading.isDone ? 1 : 0],
    );
    if (reading.isDone) this.reading = undefined;
  }

  /** Resolves when the file in hand is left. @throws what its reading threw */
  async end(): Promise<void> {
    await this.running;
  }

  private filesOf(
    source: number,
    { kind, folder }: FolderSource,
  ): { source: number; kind: FolderSource['kind']; path: string; stamp: string }[] {
    try {
      const names = readdirSync(folder)
        .filter((name) => NAMES[kind].test(name))
        .sort();
      const text = names.length > FILES_MAX ? `${folder} has more than ${FILES_MAX} files` : '';
      this.ports.problem(folder, text);
      return names.slice(0, FILES_MAX).flatMap((name) => {
        const path = join(folder, name);
        const stat = statSync(path, { throwIfNoEntry: false });
        if (!stat?.isFile()) return [];
        return [{ source, kind, path, stamp: `${stat.size} ${stat.mtimeMs}` }];
      });
    } catch (error) {
      this.ports.problem(folder, `${folder} cannot be read: ${String(error)}`);
      return [];
    }
  }

  private isRead(path: string, stamp: string): boolean {
    const row = this.ports.books.one('SELECT stamp, done FROM files WHERE path = ?', path);
    return row?.stamp === stamp && row.done === 1;
  }

  private async read(file: {
    source: number;
    kind: FolderSource['kind'];
    path: string;
    stamp: string;
  }): Promise<void> {
    const { path, source, stamp, kind } = file;
    const { books, commits, problem } = this.ports;
    await commits.turn();
    const row = books.one('SELECT stamp, position FROM files WHERE path = ?', path);
    const position = row?.stamp === stamp ? Number(row.position) : 0;
    const reading: Reading = { path, source, stamp, position, isDone: false };
    this.reading = reading;
    try {
      await (kind === 'jsonl' ? this.readLines(reading) : this.readRecords(reading));
      problem(path, '');
    } catch (error) {
      if (commits.hasFailed) throw error;
      // A file that ends in the middle or cannot be read keeps nobody from the next one.
      problem(path, `${path} could not be read to its end: ${String(error)}`);
    }
    await commits.turn();
    if (this.ports.signal.aborted) return;
    reading.isDone = true;
    commits.note();
    await commits.flush();
  }

  private async readLines(reading: Reading): Promise<void> {
    const { commits, signal } = this.ports;
    const input = await openInput(reading.path);
    let line = 0;
    const tally = createTally();
    const onLine = (number: number): void => {
      line = number;
    };
    for await (const page of jsonlPages(input.bytes, tally, onLine, reading.position)) {
      await commits.turn();
      if (signal.aborted) return;
      commits.batch.put(page);
      reading.position = line;
      commits.note();
    }
    await commits.turn();
    for (const { reason, count, first } of tally.drops()) {
      this.drop(reading, reason, count, `${basename(reading.path)} ${first[0] ?? ''}`);
    }
  }

  private async readRecords(reading: Reading): Promise<void> {
    const from = reading.position;
    let records = 0;
    let some: Frame[] = [];
    const name = basename(reading.path);
    const ports = {
      onBytes: () => undefined,
      onDamage: (offset: number) => this.drop(reading, 'damaged_gzip', 1, `${name} byte ${offset}`),
    };
    const flush = async (): Promise<void> => {
      await this.takeRecords(some, records, reading);
      some = [];
    };
    for await (const segment of segmentsOf(reading.path, ports)) {
      for await (const frame of framesOf(segment)) {
        records += 1;
        if (records <= from) continue;
        some.push(frame);
        if (some.length >= RECORDS) await flush();
        if (this.ports.signal.aborted) return;
      }
    }
    await flush();
    if (records === 0) this.drop(reading, 'no_warc_records', 1, name);
  }

  private async takeRecords(
    frames: readonly Frame[],
    last: number,
    reading: Reading,
  ): Promise<void> {
    const { pool, commits, books } = this.ports;
    const pages = await Promise.all(frames.map((frame) => pageOfFrame(frame, pool)));
    await commits.turn();
    for (const [at, page] of pages.entries()) {
      if (page === undefined) continue;
      const { batch } = commits;
      const fault =
        typeof page === 'string'
          ? page
          : takeArchived({ kind: 'archived', url: page.url, source: reading.source }, page, {
              books,
              batch,
            });
      const place = `${basename(reading.path)} record ${last - frames.length + at + 1}`;
      if (fault !== undefined) this.drop(reading, fault, 1, place);
    }
    reading.position = last;
    commits.note();
  }

  private drop({ source }: Reading, reason: string, count: number, place: string): void {
    this.ports.books.run(
      `INSERT INTO file_drops (source, reason, count, place) VALUES (?, ?, ?, ?)
       ON CONFLICT (source, reason) DO UPDATE SET count = count + excluded.count, place = excluded.place`,
      ...[source, reason, count, place],
    );
  }
}
