import { DamagedIndexError } from '../disk/checked.js';
import type { Directory } from '../disk/directory.js';
import { type Commit, readChecked, writeChecked } from './commit.js';
import { SEGMENT_FILES, type SegmentMeta } from './files.js';

/**
 * What a long load has written so far, for a later run to go on with: segments that are on disk and
 * belong to no commit yet. Like a commit it is one small file that is replaced in one step. It
 * counts only over the commit that it was begun on.
 */
export interface Draft {
  readonly format: 1;
  /** Which load it is: only the same one goes on with it. */
  readonly job: string;
  /** How far the load had read its source: the load's own business. */
  readonly note: string;
  /** The commit that it builds on. */
  readonly generation: number;
  readonly nextSegment: number;
  /** Whether it replaces what was committed. */
  readonly cleared: boolean;
  readonly segments: readonly SegmentMeta[];
  /** Documents that it deleted, by segment. */
  readonly deleted: Readonly<Record<string, readonly number[]>>;
}

export const DRAFT_FILE = 'draft.json';

/** The draft of this load over this commit, if there is one. */
export function readDraft(directory: Directory, commit: Commit, job: string): Draft | undefined {
  if (!directory.exists(DRAFT_FILE)) return undefined;
  const draft = readUnlessDamaged(directory);
  if (!draft) return undefined;
  const isMine = (draft.format as number) === 1 && draft.job === job;
  return isMine && draft.generation === commit.generation ? draft : undefined;
}

function readUnlessDamaged(directory: Directory): Draft | undefined {
  try {
    return readChecked(directory, DRAFT_FILE) as Draft;
  } catch (error) {
    // The load starts again; nothing that was committed depends on it.
    if (error instanceof DamagedIndexError) return undefined;
    throw error;
  }
}

/** Makes the draft durable. The segments' files are durable already. */
export function writeDraft(directory: Directory, draft: Draft): void {
  writeChecked(directory, DRAFT_FILE, draft);
}

export function filesOfDraft({ segments }: Draft): string[] {
  const files = segments.flatMap(({ name }) => SEGMENT_FILES.map((kind) => `${name}.${kind}`));
  return [DRAFT_FILE, ...files];
}
