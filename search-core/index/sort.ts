/** Bytes that are sorted together with the string's number, as one 64-bit integer. */
const PREFIX_BYTES = 4;

/**
 * The numbers of byte strings in their order. Strings are sorted by their first four bytes at once,
 * then each run that shares these byte by byte. No string may hold a byte 0.
 *
 * @param bytes all strings; string n is bytes[ends[n − 1] … ends[n])
 */
export function sortedStrings(bytes: Uint8Array, ends: Int32Array, count: number): Int32Array {
  const keys = new BigUint64Array(count);
  const halves = new Uint32Array(keys.buffer);
  let start = 0;
  for (let n = 0; n < count; n++) {
    const end = ends[n] ?? 0;
    let prefix = 0;
    for (let at = start; at < start + PREFIX_BYTES; at++) {
      prefix = (prefix << 8) | (at < end ? (bytes[at] ?? 0) : 0);
    }
    halves[2 * n] = n;
    halves[2 * n + 1] = prefix;
    start = end;
  }
  keys.sort();
  const order = new Int32Array(count);
  for (let i = 0; i < count; i++) order[i] = halves[2 * i] ?? 0;
  for (let from = 0; from < count;) {
    const prefix = halves[2 * from + 1];
    let to = from + 1;
    while (to < count && halves[2 * to + 1] === prefix) to++;
    if (to - from > 1) sortRun(order, from, to, bytes, ends);
    from = to;
  }
  return order;
}

/**
 * Sorts strings that share a prefix: multikey quicksort (Bentley and Sedgewick, "Fast algorithms
 * for sorting and searching strings", SODA 1997). It compares one byte at a time and never a shared prefix twice,
 * which makes it several times faster here than a comparison sort.
 *
 * @param order the strings' numbers, of which those from `first` to `end` are sorted in place
 */
function sortRun(
  order: Int32Array,
  first: number,
  end: number,
  bytes: Uint8Array,
  ends: Int32Array,
): void {
  const startOf = (n: number): number => (n === 0 ? 0 : (ends[n - 1] ?? 0));
  const byteAt = (n: number, depth: number): number => {
    const at = startOf(n) + depth;
    return at < (ends[n] ?? 0) ? (bytes[at] ?? 0) : -1;
  };
  const swap = (i: number, j: number): void => {
    const kept = order[i] ?? 0;
    order[i] = order[j] ?? 0;
    order[j] = kept;
  };
  const sort = (from: number, to: number, startDepth: number): void => {
    let [low, high, depth] = [from, to, startDepth];
    while (high - low > 1) {
      swap(low, low + ((high - low) >> 1));
      const pivot = byteAt(order[low] ?? 0, depth);
      let [less, greater, i] = [low, high, low + 1];
      while (i < greater) {
        const byte = byteAt(order[i] ?? 0, depth);
        if (byte < pivot) swap(less++, i++);
        else if (byte > pivot) swap(i, --greater);
        else i++;
      }
      sort(low, less, depth);
      sort(greater, high, depth);
      if (pivot < 0) return;
      [low, high, depth] = [less, greater, depth + 1];
    }
  };
  sort(first, end, PREFIX_BYTES);
}
