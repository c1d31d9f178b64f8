/**
 * BM25F over two fields (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple
 * weighted fields", CIKM 2004; Robertson and Zaragoza, "The Probabilistic Relevance Framework",
 * 2009, section 3.6). A term's occurrences are weighted and normalised per field, added, and
 * saturated once:
 *
 *     x     = tf_body / (1 − b + b · len_body / avg_body) + w · tf_title / (1 − b_t + b_t · …)
 *     score = idf · x / (k1 + x)
 *     idf   = ln(1 + (N − df + ½) / (df + ½))
 *
 * k1 and b are the textbook's values; none was tuned to a collection.
 */
const K1 = 1.2;
const BODY_B = 0.75;
const TITLE_B = 0.75;
/** How much more an occurrence in the title says than one in the body. */
const TITLE_WEIGHT = 3;

/** Average words per page in each field; at least 1. Of coded lengths, see `lengthCode`. */
export interface Averages {
  readonly averageBody: number;
  readonly averageTitle: number;
}

export function inverseDocumentFrequency(pages: number, documentFrequency: number): number {
  return Math.log(1 + (pages - documentFrequency + 0.5) / (documentFrequency + 0.5));
}

export function saturate(x: number): number {
  return x / (K1 + x);
}

/**
 * Lengths are kept in one byte: exact up to 40 words, then in steps of 5 %, up to 1.4 million.
 * (Lucene keeps its norms in a byte likewise; its steps are 6 to 12 %.)
 */
const EXACT_LENGTHS = 40;
export const LENGTHS: Float64Array = Float64Array.from({ length: 256 }, (_, code) =>
  code <= EXACT_LENGTHS ? code : EXACT_LENGTHS * 1.05 ** (code - EXACT_LENGTHS),
);

/** The code of the largest length that is not above `words`. */
export function lengthCode(words: number): number {
  if (words <= EXACT_LENGTHS) return words;
  const steps = Math.floor(Math.log(words / EXACT_LENGTHS) / Math.log(1.05) + 1e-9);
  return Math.min(255, EXACT_LENGTHS + steps);
}

/** Field weight per length code: what one occurrence in a field of that length adds to x. */
export interface Norms {
  readonly body: Float64Array;
  readonly title: Float64Array;
}

export function norms(averages: Averages): Norms {
  const table = (b: number, average: number, weight: number): Float64Array =>
    LENGTHS.map((length) => weight / (1 - b + (b * length) / average));
  return {
    body: table(BODY_B, averages.averageBody, 1),
    title: table(TITLE_B, averages.averageTitle, TITLE_WEIGHT),
  };
}
