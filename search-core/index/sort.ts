/**
 * Sorts byte strings: multikey quicksort (Bentley and Sedgewick, "Fast algorithms for sorting and
 * searching strings", SODA 1997). It compares one byte at a time and never a shared prefix twice,
 * which makes it several times faster here than a comparison sort.
 *
 * @param order the strings' numbers; sorted in place
 * @param bytes all strings; string n is bytes[ends[n − 1] … ends[n])
 */
export function sortStrings(order: Int32Array, bytes: Uint8Array, ends: Int32Array): void {
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
  sort(0, order.length, 0);
}
