/** A page in the ranking; `page` orders ties: the one that was indexed first comes first. */
export interface Ranked {
  readonly page: number;
  readonly score: number;
}

/** At most so many of the best pages by BM25F are looked at for nearness … */
const PAGES_MAX = 200;
/** … and so many lists of positions are read for it: fewer pages where a query has many words. */
const LISTS_MAX = 4_000;

/** How many of the best pages are put in order again for a query of so many words. */
export function rerankedPages(words: number): number {
  return Math.min(PAGES_MAX, Math.ceil(LISTS_MAX / Math.max(1, words)));
}

/** Where fewer pages hold the phrases in quotes, others follow them. */
export const PHRASE_PAGES_MIN = 3;

/**
 * What a unit of nearness is worth beside a unit of BM25F. More of it finds phrases without quotes
 * better and bags of keywords worse; `npm run bench:relevance` shows both.
 */
export const NEARNESS_WEIGHT = 0.3;

/**
 * Scores are compared as 32-bit floats: the sum of the same terms in another order may differ in
 * the last bit of a double, and equal pages must tie.
 */
export const comparable = Math.fround;

export function byScore(a: Ranked, b: Ranked): number {
  return b.score - a.score || a.page - b.page;
}

/** Adds each page's nearness to its score and puts the pages in their final order. */
export function rerank(best: readonly Ranked[], nearness: readonly number[]): Ranked[] {
  return best
    .map(({ page, score }, i) => ({
      page,
      score: comparable(score + NEARNESS_WEIGHT * (nearness[i] ?? 0)),
    }))
    .sort(byScore);
}

/** The pages that hold the phrases, then those of `others` that are not among them. */
export function phrasesFirst(holding: readonly Ranked[], others: readonly Ranked[]): Ranked[] {
  const first = new Set(holding.map(({ page }) => page));
  return [...holding, ...others.filter(({ page }) => !first.has(page))];
}
