import type { Tokens } from '../analyze/tokenize.js';

/**
 * Numbers words in the order of their first appearance: a hash table with linear probing over typed
 * arrays. It holds no string, so the heap stays small however many words a segment has.
 */
export class Vocabulary {
  count = 0;
  bytes = new Uint8Array(1 << 20);
  /** Where each word ends in `bytes`. */
  ends = new Int32Array(1 << 16);
  private hashes = new Int32Array(1 << 16);
  private slots = new Int32Array(1 << 18).fill(-1);

  /** The number of a word of `tokens`. */
  number(tokens: Tokens, word: number): number {
    const hash = tokens.hashes[word] ?? 0;
    const start = tokens.start(word);
    const length = (tokens.ends[word] ?? 0) - start;
    const mask = this.slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const known = this.slots[slot] ?? -1;
      if (known < 0) return this.add(tokens.bytes, start, length, hash, slot);
      if (this.hashes[known] === hash && this.equals(known, tokens.bytes, start, length)) {
        return known;
      }
    }
  }

  /** Where a word starts in `bytes`. */
  start(number: number): number {
    return number === 0 ? 0 : (this.ends[number - 1] ?? 0);
  }

  private equals(known: number, bytes: Uint8Array, start: number, length: number): boolean {
    const at = this.start(known);
    if ((this.ends[known] ?? 0) - at !== length) return false;
    for (let i = 0; i < length; i++) {
      if (this.bytes[at + i] !== bytes[start + i]) return false;
    }
    return true;
  }

  private add(
    bytes: Uint8Array,
    start: number,
    length: number,
    hash: number,
    slot: number,
  ): number {
    const number = this.count++;
    const at = this.start(number);
    if (at + length > this.bytes.length) {
      const grown = new Uint8Array(2 * this.bytes.length);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    if (number >= this.ends.length) {
      this.ends = doubled(this.ends);
      this.hashes = doubled(this.hashes);
    }
    for (let i = 0; i < length; i++) this.bytes[at + i] = bytes[start + i] ?? 0;
    this.ends[number] = at + length;
    this.hashes[number] = hash;
    this.slots[slot] = number;
    if (2 * this.count > this.slots.length) this.rehash();
    return number;
  }

  private rehash(): void {
    this.slots = new Int32Array(2 * this.slots.length).fill(-1);
    const mask = this.slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = (this.hashes[number] ?? 0) & mask;
      while ((this.slots[slot] ?? -1) >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = number;
    }
  }
}

export function doubled(array: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(2 * array.length);
  grown.set(array);
  return grown;
}
