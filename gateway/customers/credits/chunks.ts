/**
 * Splits a list into chunks of 64, 16, 4 and 1: few statements for many rows, and only four texts
 * of each statement, so that every one of them stays prepared.
 */
export function* inChunks<T>(items: readonly T[]): Iterable<readonly T[]> {
  let from = 0;
  for (const size of [64, 16, 4, 1]) {
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size);
  }
}
