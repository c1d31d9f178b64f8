import { bodyOccurrences, titleOccurrences } from '../index/postings/layout.js';
import type { Leaf } from '../index/snapshot.js';
import { type Averages, norms, type Norms, saturate } from '../rank/bm25f.js';

/** Codes below this have their saturated weight in a table: up to 15 body occurrences. */
const TABLED_CODES = 64;

/** Scores the postings of one leaf with the averages of the whole index. */
export class LeafScorer {
  /** Saturated weight of (code << 6 | body length code), for codes without title occurrences. */
  private readonly table = new Float64Array(TABLED_CODES << 6);
  private readonly norms: Norms;
  private readonly lengths: Uint8Array;
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
    const { meta } = leaf.segment;
    this.lengths = leaf.segment.norms;
    this.norms = norms(averages);
    this.boundScale =
      Math.max(
        1,
        averages.averageBody / meta.averageBody,
        averages.averageTitle / meta.averageTitle,
      ) * 1.000001;
    for (let code = 4; code < TABLED_CODES; code += 4) {
      for (let length = 0; length < 256; length++) {
        const weight = saturate(bodyOccurrences(code) * (this.norms.body[length] ?? 0));
        this.table[(code << 6) | length] = weight;
      }
    }
  }

  /** The saturated weight of a posting. */
  weight(document: number, code: number): number {
    const body = this.lengths[2 * document] ?? 0;
    if ((code & 3) === 0 && code < TABLED_CODES) return this.table[(code << 6) | body] ?? 0;
    const title = this.lengths[2 * document + 1] ?? 0;
    return saturate(
      bodyOccurrences(code) * (this.norms.body[body] ?? 0) +
        titleOccurrences(code) * (this.norms.title[title] ?? 0),
    );
  }
}
