/**
 * Pages on their way from a slow source to the index, kept on disk, so that a run which was killed
 * goes on where it stood. A job's directory holds compressed chunks of pages and one state file;
 * a chunk counts only once the state names it, and the state is replaced in one rename.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { lock } from '../disk/lock.js';
import { gunzipped, linesOf } from './input.js';
import type { Page } from './page.js';

/** A position in the source is the source's own business: any JSON. */
interface SpoolState<Position> {
  readonly chunks: number;
  readonly pages: number;
  readonly position: Position;
}

export interface Spool<Position> {
  /** The last checkpoint of an earlier run of the same job, if there was one. */
  readonly state: SpoolState<Position> | undefined;
  /** Adds pages and moves to `position`, durably and at once. */
  checkpoint(pages: readonly Page[], position: Position): Promise<void>;
  /** All pages of the checkpoints so far. */
  pages(): AsyncIterable<Page>;
  /** Removes the job. */
  remove(): Promise<void>;
}

const LINE_BYTES_MAX = 64 * 1024 * 1024;
const FORMAT = 1;

/**
 * The directory of the job that `facts` describe, for the index at `place`: the same facts and the
 * same index, the same directory.
 */
export function jobDirectory(
  { index, place }: { readonly index: string; readonly place: string },
  name: string,
  facts: unknown,
): string {
  const id = createHash('sha256')
    .update(JSON.stringify([place, facts]))
    .digest('hex')
    .slice(0, 16);
  return join(dirname(index), 'ingest', `${name}-${id}`);
}

/**
 * Does a job, unless another process does it at this moment.
 * @throws LockedError then
 */
export async function doAlone<T>(directory: string, job: () => Promise<T>): Promise<T> {
  await mkdir(dirname(directory), { recursive: true });
  const held = lock(`${directory}.lock`, `the job ${directory}`);
  try {
    return await job();
  } finally {
    held.release();
  }
}

export async function openSpool<Position>(directory: string): Promise<Spool<Position>> {
  await mkdir(directory, { recursive: true });
  const stateFile = join(directory, 'state.json');
  let state = await readState<Position>(stateFile);
  const chunkFile = (chunk: number): string => join(directory, `pages-${chunk}.jsonl.gz`);
  return {
    get state() {
      return state;
    },
    checkpoint: async (pages, position) => {
      const chunks = state?.chunks ?? 0;
      const isChunk = pages.length > 0;
      const lines = pages.map((page) => `${JSON.stringify(page)}\n`).join('');
      if (isChunk) await writeDurably(chunkFile(chunks), gzipSync(lines, { level: 3 }));
      state = {
        chunks: chunks + (isChunk ? 1 : 0),
        pages: (state?.pages ?? 0) + pages.length,
        position,
      };
      await writeDurably(stateFile, JSON.stringify({ format: FORMAT, ...state }));
    },
    pages: async function* () {
      for (let chunk = 0; chunk < (state?.chunks ?? 0); chunk += 1) {
        const bytes = gunzipped(createReadStream(chunkFile(chunk)));
        for await (const line of linesOf(bytes, LINE_BYTES_MAX)) {
          if (line.bytes) yield JSON.parse(line.bytes.toString('utf8')) as Page;
        }
      }
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The state, or undefined where there is none of this format. */
async function readState<Position>(file: string): Promise<SpoolState<Position> | undefined> {
  let json: string;
  try {
    json = await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
  const { format, ...state } = JSON.parse(json) as SpoolState<Position> & { format: number };
  return format === FORMAT ? state : undefined;
}

/** Writes beside the file, syncs, and renames: a reader sees the old bytes or the new ones. */
async function writeDurably(file: string, bytes: string | Uint8Array): Promise<void> {
  const next = `${file}.next`;
  const handle = await open(next, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, file);
}
