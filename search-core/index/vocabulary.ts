import type { Tokens } from '../analyze/tokenize.js';

/** Int32s per slot of the table: hash, number + 1 (0: free), start and length of the word. */
const SLOT = 4;

/**
 * Numbers words in the order of their first appearance: a hash table with linear probing over typed
 * arrays. It holds no string, so the heap stays small however many words a segment has, and a slot
 * is a quarter of a cache line: looking a word up touches little more than its slot and its bytes.
 */
export class Vocabulary {
  count = 0;
  bytes = new Uint8Array(1 << 20);
  /** Where each word ends in `bytes`; it starts where the one before ends. */
  ends = new Int32Array(1 << 16);
  private size = 1 << 17;
  private table = new Int32Array(SLOT * this.size);

  /** The number of a word of `tokens`. */
  number(tokens: Tokens, word: number): number {
    const hash = tokens.hashes[word] ?? 0;
    const start = tokens.start(word);
    const length = (tokens.ends[word] ?? 0) - start;
    const { table } = this;
    const mask = this.size - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = SLOT * slot;
      const number = (table[at + 1] ?? 0) - 1;
      if (number < 0) return this.add(tokens.bytes, start, length, hash, at);
      if (
        table[at] === hash &&
        table[at + 3] === length &&
        this.equals(table[at + 2] ?? 0, tokens.bytes, start, length)
      ) {
        return number;
      }
    }
  }

  /** Where a word starts in `bytes`. */
  start(number: number): number {
    return number === 0 ? 0 : (this.ends[number - 1] ?? 0);
  }

  private equals(known: number, bytes: Uint8Array, start: number, length: number): boolean {
    for (let i = 0; i < length; i++) {
      if (this.bytes[known + i] !== bytes[start + i]) return false;
    }
    return true;
  }

  private add(bytes: Uint8Array, start: number, length: number, hash: number, at: number): number {
    const number = this.count++;
    const from = this.start(number);
    if (from + length > this.bytes.length) {
      const grown = new Uint8Array(2 * this.bytes.length);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    if (number >= this.ends.length) this.ends = doubled(this.ends);
    for (let i = 0; i < length; i++) this.bytes[from + i] = bytes[start + i] ?? 0;
    this.ends[number] = from + length;
    this.table.set([hash, number + 1, from, length], at);
    if (2 * this.count > this.size) this.grow();
    return number;
  }

  private grow(): void {
    const old = this.table;
    this.size *= 2;
    this.table = new Int32Array(SLOT * this.size);
    for (let from = 0; from < old.length; from += SLOT) {
      if (old[from + 1] === 0) continue;
      let slot = (old[from] ?? 0) & (this.size - 1);
      while (this.table[SLOT * slot + 1] !== 0) slot = (slot + 1) & (this.size - 1);
      this.table.set(old.subarray(from, from + SLOT), SLOT * slot);
    }
  }
}

export function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(2 * array.length);
  grown.set(array);
  return grown;
}
