import { crc32 } from 'node:zlib';
import { DamagedIndexError } from '../disk/checked.js';
import { type Directory, readAll } from '../disk/directory.js';
import { SEGMENT_FILES, type SegmentMeta } from './files.js';

/**
 * A commit: the list of segments that are the index. It is one small file, and replacing it is the
 * only step that changes the index, so whenever the machine stops, the index is the one from before
 * or the one from after. Everything that it names was made durable before.
 */
export interface Commit {
  readonly format: 1;
  /** Grows by one with every commit. */
  readonly generation: number;
  /** The number for the next segment's name: names are never used twice. */
  readonly nextSegment: number;
  readonly segments: readonly CommittedSegment[];
}

interface CommittedSegment {
  readonly meta: SegmentMeta;
  /** The file with the segment's deleted documents, if it has any. */
  readonly deletes: string | null;
}

export const COMMIT_FILE = 'index.json';

const NO_COMMIT: Commit = { format: 1, generation: 0, nextSegment: 1, segments: [] };

/** The index as it was committed last; an empty one where nothing ever was. */
export function readCommit(directory: Directory): Commit {
  if (!directory.exists(COMMIT_FILE)) return NO_COMMIT;
  const commit = readChecked(directory, COMMIT_FILE) as Commit;
  if ((commit.format as number) !== 1) {
    throw new DamagedIndexError(`${COMMIT_FILE} has format ${commit.format}; this reads format 1`);
  }
  return commit;
}

/** Makes `commit` the index. The segments' files are durable already. */
export function writeCommit(directory: Directory, commit: Commit): void {
  writeChecked(directory, COMMIT_FILE, commit);
}

/** Reads what `writeChecked` wrote. @throws DamagedIndexError */
export function readChecked(directory: Directory, name: string): unknown {
  const text = Buffer.from(readAll(directory, name)).toString();
  const [sum = '', json = ''] = text.split('\n', 2);
  if (Number.parseInt(sum, 16) !== crc32(json)) throw new DamagedIndexError(`${name} is damaged`);
  return JSON.parse(json);
}

/** Replaces a small file by `value` as JSON with a checksum, durably and in one step. */
export function writeChecked(directory: Directory, name: string, value: object): void {
  directory.sync();
  const json = JSON.stringify(value);
  const file = directory.create(`${name}.new`);
  file.append(Buffer.from(`${crc32(json).toString(16)}\n${json}\n`));
  file.sync();
  file.close();
  directory.rename(`${name}.new`, name);
  directory.sync();
}

const OURS =
  /^(?:s\d+(?:-[0-9a-f]{8})?\.(?:[a-z]+|\d+\.deletes)|index\.json\.new|draft\.json(?:\.new)?)$/;

/** The files that a commit refers to. */
export function filesOf(commit: Commit): string[] {
  return commit.segments.flatMap(({ meta, deletes }) => [
    ...SEGMENT_FILES.map((kind) => `${meta.name}.${kind}`),
    ...(deletes === null ? [] : [deletes]),
  ]);
}

/** Removes what is none of `kept`: what a crash left behind. For the writer only. */
export function sweep(directory: Directory, files: readonly string[]): void {
  const kept = new Set(files);
  for (const name of directory.list()) {
    if (OURS.test(name) && !kept.has(name)) directory.remove(name);
  }
}
