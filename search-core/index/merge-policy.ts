import type { Leaf } from './snapshot.js';

/** So many neighbours of one size become one of the next: few segments stay, each merged seldom. */
const FAN_IN = 8;
/** A segment with more than this share of deleted documents is written anew. */
const DELETED_SHARE_MAX = 0.3;
/** Segments below this count as one size. */
const SMALL = 1_000;

/** A segment's size class: each is FAN_IN times the one below. */
function tier({ segment }: Leaf): number {
  return Math.floor(Math.log(Math.max(SMALL, segment.meta.documents)) / Math.log(FAN_IN) + 1e-9);
}

/**
 * The neighbouring segments that should become one next, or none (a log-structured merge: O'Neil
 * et al., 1996). Only neighbours are merged, so documents keep their order and ties their ranks.
 */
export function nextMerge(leaves: readonly Leaf[]): readonly Leaf[] {
  for (let end = leaves.length; end >= FAN_IN; end--) {
    const run = leaves.slice(end - FAN_IN, end);
    const largest = Math.max(...run.map(tier));
    const equals = run.filter((leaf) => tier(leaf) === largest).length;
    if (equals > 1 || leaves.length > 3 * FAN_IN) return run;
  }
  const wasteful = leaves.find((leaf) => isWasteful([leaf]));
  return wasteful ? [wasteful] : [];
}

/** Whether so much of these segments is deleted that they should be written anew. */
export function isWasteful(leaves: readonly Leaf[]): boolean {
  const documents = leaves.reduce((sum, { segment }) => sum + segment.meta.documents, 0);
  const deleted = leaves.reduce((sum, leaf) => sum + leaf.deleted.count, 0);
  return deleted > DELETED_SHARE_MAX * documents;
}
