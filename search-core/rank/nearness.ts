/**
 * Ordered nearness: neighbouring words of the query that stand near each other in the page, in the
 * query's order, are worth more; reversed, they are worth less than in order. After Büttcher, Clarke
 * and Lushman, "Term proximity scoring for ad-hoc retrieval on very large text collections" (SIGIR
 * 2006): each pair of occurrences adds 1/distance², the sum is saturated like a term frequency, and
 * the lesser idf of the two weighs it, so that common words beside each other say little.
 */

/**
 * Positions below BODY_START are the title's: first its own words, from ADDRESS_START on those of
 * the page's address. Each has at most as many words as fit, and one position stays free behind it,
 * so that no phrase reaches from one into the next.
 */
export const ADDRESS_START = 96;
export const BODY_START = 128;

/** What a pair in reverse order is worth beside one in order. */
const REVERSED = 0.3;
/** Pairs further apart than this add under 3 %: not looked at. */
const DISTANCE_MAX = 6;
/** A pair in the title counts as so many in the body. */
const TITLE_PAIR = 3;

/**
 * What the longest stretch of the query that the page has word for word is worth, beside the pairs
 * in it: the idfs of its words, times its share of the query to this power. So it speaks where
 * nearly the whole query stands in the page as it was written, and says little of a bag of words.
 */
const STRETCH_POWER = 4;

/**
 * What it is worth that the whole query stands in the title word for word: the idfs of its words, times
 * its share of the title, times this. People ask for pages by their titles. No query of more than
 * TITLE_QUERY_MAX words is looked for there: the bound would keep pages that it does not lift.
 */
const TITLE_MATCH = 1;
const TITLE_QUERY_MAX = 12;

/** How the pair's sum of 1/distance² saturates. */
const SATURATION = 0.5;

/** Ascending positions of a word in a page: the first `count` of `values`. */
export interface Positions {
  readonly values: Int32Array;
  readonly count: number;
}

/**
 * Sum over occurrences of the first word of the nearest second word on either side. Both arrays
 * ascend; a word paired with itself counts its repetitions in order only.
 */
function pairSum(first: Positions, second: Positions): number {
  const { values, count } = second;
  let sum = 0;
  let next = 0;
  for (let i = 0; i < first.count; i++) {
    const position = first.values[i] ?? 0;
    while (next < count && (values[next] ?? 0) <= position) next++;
    const after = next < count ? (values[next] ?? 0) - position : DISTANCE_MAX + 1;
    const beforeAt = next > 0 && values[next - 1] === position ? next - 2 : next - 1;
    const before = beforeAt >= 0 ? position - (values[beforeAt] ?? 0) : DISTANCE_MAX + 1;
    const weight = position < BODY_START ? TITLE_PAIR : 1;
    if (after <= DISTANCE_MAX) sum += weight / (after * after);
    if (before <= DISTANCE_MAX && first !== second) sum += (weight * REVERSED) / (before * before);
  }
  return sum;
}

/** For each position of a word, the first word of the stretch of the query that ends there. */
class StretchStarts {
  private before: Int32Array = new Int32Array(1 << 7);
  private here: Int32Array = new Int32Array(1 << 7);

  /** Moves on by a word of the query; returns the least first word, `word` itself if no stretch. */
  next(word: number, current: Positions, previous: Positions | undefined): number {
    [this.before, this.here] = [this.here, this.before];
    const { before } = this;
    if (this.here.length < current.count) this.here = new Int32Array(2 * current.count);
    const { here } = this;
    let least = word;
    let at = 0;
    for (let i = 0; i < current.count; i++) {
      const wanted = (current.values[i] ?? 0) - 1;
      let first = word;
      if (previous) {
        while (at < previous.count && (previous.values[at] ?? 0) < wanted) at++;
        if (at < previous.count && previous.values[at] === wanted) first = before[at] ?? word;
      }
      here[i] = first;
      if (first < least) least = first;
    }
    return least;
  }

  /** Whether the stretch from the first word on ends in the title, for the last word given. */
  hasWholeInTitle(last: Positions): boolean {
    for (let i = 0; i < last.count && (last.values[i] ?? 0) < ADDRESS_START; i++) {
      if (this.here[i] === 0) return true;
    }
    return false;
  }
}

const starts = new StretchStarts();

/**
 * The best stretch of at least two words that stands in the page as in the query, and what it is
 * worth that the title has all of it.
 */
function stretchScore(
  positions: readonly Positions[],
  idfs: readonly number[],
  titleWords: number,
): number {
  let best = 0;
  for (const [word, current] of positions.entries()) {
    const first = starts.next(word, current, positions[word - 1]);
    if (first === word) continue;
    let weight = 0;
    for (let i = first; i <= word; i++) weight += idfs[i] ?? 0;
    best = Math.max(best, weight * ((word - first + 1) / positions.length) ** STRETCH_POWER);
  }
  const last = positions.at(-1);
  if (positions.length > TITLE_QUERY_MAX || !last) return best;
  if (!starts.hasWholeInTitle(last)) return best;
  const share = Math.min(1, positions.length / Math.max(1, titleWords));
  return best + TITLE_MATCH * share * idfs.reduce((sum, idf) => sum + idf, 0);
}

/**
 * The nearness score of one page.
 * @param positions for each word of the query, in its order, where it stands in the page (ascending)
 * @param idfs the words' inverse document frequencies
 * @param titleWords how many words the page's title has
 */
export function nearness(
  positions: readonly Positions[],
  idfs: readonly number[],
  titleWords: number,
): number {
  let score = 0;
  for (let i = 1; i < positions.length; i++) {
    const first = positions[i - 1];
    const second = positions[i];
    if (!first || !second || first.count === 0 || second.count === 0) continue;
    const sum = pairSum(first, second);
    if (sum > 0) {
      score += (Math.min(idfs[i - 1] ?? 0, idfs[i] ?? 0) * sum) / (SATURATION + sum);
    }
  }
  return score > 0 ? score + stretchScore(positions, idfs, titleWords) : 0;
}

/** The most that any page's nearness score can be, for words with these idfs. */
export function nearnessMax(idfs: readonly number[]): number {
  const alone = idfs.length > TITLE_QUERY_MAX ? 1 : 1 + TITLE_MATCH;
  return idfs.reduce(
    (sum, idf, i) => sum + alone * idf + (i === 0 ? 0 : Math.min(idfs[i - 1] ?? 0, idf)),
    0,
  );
}

/** Whether `words` stand at neighbouring positions in this order; positions ascend. */
export function holdsPhrase(positions: readonly Int32Array[]): boolean {
  const [first, ...rest] = positions;
  if (!first) return false;
  const cursors = rest.map(() => 0);
  return first.some((start) =>
    rest.every((list, i) => {
      let at = cursors[i] ?? 0;
      while (at < list.length && (list[at] ?? 0) < start + i + 1) at++;
      cursors[i] = at;
      return list[at] === start + i + 1;
    }),
  );
}
