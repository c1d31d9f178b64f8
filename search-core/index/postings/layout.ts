/**
 * How one term's postings lie in the files `postings` and `positions` of a segment.
 *
 * A posting is a document number and a code: `4 · body occurrences + title occurrences`, where at
 * most 3 of the title's count. Every full 128 postings are a block; the rest is the tail. A term
 * with fewer than 128 postings, as most are, is a tail only and has no header.
 *
 *     header   (only with blocks; from the next multiple of 4; B blocks)
 *       int32[B]      last document of each block
 *       int32[B]      where each block ends, in bytes after the header
 *       int32[B + 1]  where each block's positions start, and the tail's, in bytes
 *       uint8[B + 1]  the largest saturated weight in each block, and the tail; then 0 to 3 zeros
 *     block    int32: bits per gap | bits per code << 8; the gaps less 1; the codes; both packed
 *     tail     a varint gap and a varint code per posting
 *
 * Positions, for each block and the tail by itself: the gaps less 1 between one posting's
 * positions, each posting starting anew. Every full 128 gaps are a group. A reader that wants one
 * posting's positions adds up the widths of the groups before it and unpacks only what it needs.
 *
 *     uint8[G]  bits of each group; then zeros to a multiple of 4; the groups, packed
 *     varint    the remaining gaps
 *
 * Largest weights are what early termination lives on (block-max indexes: Ding and Suel, "Faster
 * top-k document retrieval using block-max indexes", SIGIR 2011).
 */
export function headerBytes(blocks: number): number {
  return Math.ceil((12 * blocks + 4 + blocks + 1) / 4) * 4;
}

export function align4(at: number): number {
  return (at + 3) & ~3;
}

/** More occurrences of a word in a title than this do not count. */
export const TITLE_OCCURRENCES_MAX = 3;

export function bodyOccurrences(code: number): number {
  return code >>> 2;
}

export function titleOccurrences(code: number): number {
  return code & 3;
}

/** Positions that a posting with this code has. */
export function occurrences(code: number): number {
  return (code >>> 2) + (code & 3);
}

/**
 * Saturated weights are in [0, 1) and kept in one byte, rounded up, so that a bound stays one. They
 * hold for the averages that the segment was written with; see `boundScale` for others.
 */
export function encodeBound(weight: number): number {
  return Math.min(255, Math.ceil(weight * 255));
}

export function decodeBound(byte: number): number {
  return byte / 255;
}
