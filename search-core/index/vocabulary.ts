import type { Tokens } from '../analyze/tokenize.js';

/**
 * Int32s per slot of the table, whose third is number + 1 (0: free). A word of at most 8 bytes, as
 * most are, stands in its slot itself: its bytes, number + 1, 0. A longer one has its hash there, where
 * it starts in `bytes`, number + 1, and its length.
 */
const SLOT_BITS = 2;
const SLOT = 1 << SLOT_BITS;
const INLINE_BYTES = 8;

/** Masks for the first and the second four bytes of a word, by its length up to 8. */
const FIRST = Int32Array.of(0, 0xff, 0xffff, 0xffffff, -1, -1, -1, -1, -1);
const SECOND = Int32Array.of(0, 0, 0, 0, 0, 0xff, 0xffff, 0xffffff, -1);

/** One step of a hash over 32-bit words; the multipliers are MurmurHash3's (A. Appleby). */
function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
}

function hashInline(first: number, second: number): number {
  const hash = mix(mix(0, first), second);
  return hash ^ (hash >>> 16);
}

function hashLong(view: DataView, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash, view.getInt32(at, true));
  hash = mix(hash, view.getInt32(at, true) & (FIRST[end - at] ?? 0));
  return hash ^ (hash >>> 16);
}

/**
 * Numbers words in the order of their first appearance: a hash table with linear probing over typed
 * arrays. It holds no string, so the heap stays small however many words a segment has. Looking most
 * words up touches one slot, a quarter of a cache line, and nothing else.
 */
export class Vocabulary {
  count = 0;
  bytes = new Uint8Array(1 << 20);
  /** Where each word ends in `bytes`; it starts where the one before ends. */
  ends = new Int32Array(1 << 16);
  private size = 1 << 17;
  private table = new Int32Array(SLOT * this.size);

  /** Writes the numbers of the first `count` of `tokens` to `out`, from `at` on. */
  number(tokens: Tokens, count: number, out: Int32Array, at: number): void {
    const { starts, ends, view } = tokens;
    for (let i = 0; i < count; i++) {
      const start = starts[i] ?? 0;
      const end = ends[i] ?? 0;
      const length = end - start;
      if (length > INLINE_BYTES) {
        out[at + i] = this.numberLong(tokens, start, end);
        continue;
      }
      const first = view.getInt32(start, true) & (FIRST[length] ?? 0);
      const second = view.getInt32(start + 4, true) & (SECOND[length] ?? 0);
      const { table } = this;
      const mask = SLOT * this.size - 1;
      let slot = (hashInline(first, second) << SLOT_BITS) & mask;
      while (
        table[slot + 2] !== 0 &&
        (table[slot] !== first || table[slot + 1] !== second || table[slot + 3] !== 0)
      ) {
        slot = (slot + SLOT) & mask;
      }
      const known = table[slot + 2] ?? 0;
      out[at + i] = known > 0 ? known - 1 : this.add(tokens, start, end, slot, first, second);
    }
  }

  /** Where a word starts in `bytes`. */
  start(number: number): number {
    return number === 0 ? 0 : (this.ends[number - 1] ?? 0);
  }

  private numberLong(tokens: Tokens, start: number, end: number): number {
    const { table } = this;
    const hash = hashLong(tokens.view, start, end);
    const mask = SLOT * this.size - 1;
    let slot = (hash << SLOT_BITS) & mask;
    for (; table[slot + 2] !== 0; slot = (slot + SLOT) & mask) {
      if (
        table[slot] === hash &&
        table[slot + 3] === end - start &&
        this.equals(table[slot + 1] ?? 0, tokens.bytes, start, end)
      ) {
        return (table[slot + 2] ?? 0) - 1;
      }
    }
    return this.add(tokens, start, end, slot, hash, this.start(this.count));
  }

  private equals(known: number, bytes: Uint8Array, start: number, end: number): boolean {
    for (let i = start; i < end; i++) {
      if (this.bytes[known + i - start] !== bytes[i]) return false;
    }
    return true;
  }

  /** Adds a word in a free slot whose first two values are given. */
  private add(
    { bytes }: Tokens,
    start: number,
    end: number,
    slot: number,
    first: number,
    second: number,
  ): number {
    const number = this.count++;
    const from = this.start(number);
    const length = end - start;
    if (from + length > this.bytes.length) {
      const grown = new Uint8Array(2 * this.bytes.length);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    if (number >= this.ends.length) this.ends = doubled(this.ends);
    for (let i = 0; i < length; i++) this.bytes[from + i] = bytes[start + i] ?? 0;
    this.ends[number] = from + length;
    const { table } = this;
    table[slot] = first;
    table[slot + 1] = second;
    table[slot + 2] = number + 1;
    table[slot + 3] = length > INLINE_BYTES ? length : 0;
    if (2 * this.count > this.size) this.grow();
    return number;
  }

  private grow(): void {
    const old = this.table;
    this.size *= 2;
    const table = new Int32Array(SLOT * this.size);
    const mask = SLOT * this.size - 1;
    for (let from = 0; from < old.length; from += SLOT) {
      if (old[from + 2] === 0) continue;
      const first = old[from] ?? 0;
      const hash = old[from + 3] === 0 ? hashInline(first, old[from + 1] ?? 0) : first;
      let slot = (hash << SLOT_BITS) & mask;
      while (table[slot + 2] !== 0) slot = (slot + SLOT) & mask;
      for (let i = 0; i < SLOT; i++) table[slot + i] = old[from + i] ?? 0;
    }
    this.table = table;
  }
}

export function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(2 * array.length);
  grown.set(array);
  return grown;
}
