import { bodyOccurrences, titleOccurrences } from '../index/postings/layout.js';
import type { Leaf } from '../index/snapshot.js';
import { type Averages, norms, saturate } from '../rank/bm25f.js';
import { WINDOW } from './window.js';

/** Scores the postings of one leaf with the averages of the whole index. */
export class LeafScorer {
  /** What one occurrence adds, by the document's length code in each field. */
  readonly body: Float64Array;
  readonly title: Float64Array;
  /** Per document: the body's length code, and the title's shifted by 8. */
  readonly lengths: Uint16Array;
  /** For the terms' use: where documents are in a block, by their number in a window. */
  readonly places = new Uint8Array(WINDOW);
  /**
   * Bounds were computed with the segment's own averages. Where an average grew by a factor c, a
   * weight grows by c at the most: 1 / (1 − b + b·l/a) grows slower than a, and saturation is
   * concave. The last factor makes room for rounding.
   */
  readonly boundScale: number;

  constructor(
    readonly leaf: Leaf,
    averages: Averages,
  ) {
    const { meta, norms: codes } = leaf.segment;
    this.lengths = new Uint16Array(codes.buffer, codes.byteOffset, meta.documents);
    ({ body: this.body, title: this.title } = norms(averages));
    this.boundScale =
      Math.max(
        1,
        averages.averageBody / meta.averageBody,
        averages.averageTitle / meta.averageTitle,
      ) * 1.000001;
  }

  /**
   * The saturated weight of a posting, without branches, which would be mispredicted often. Loops
   * over many postings take the arrays out of the loop and call `weightOf` themselves.
   */
  weight(document: number, code: number): number {
    return weightOf(code, this.lengths[document] ?? 0, this.body, this.title);
  }
}

/** The saturated weight of a posting in a document of these lengths. */
export function weightOf(
  code: number,
  lengths: number,
  body: Float64Array,
  title: Float64Array,
): number {
  return saturate(
    bodyOccurrences(code) * (body[lengths & 0xff] ?? 0) +
      titleOccurrences(code) * (title[lengths >> 8] ?? 0),
  );
}
