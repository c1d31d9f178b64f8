import { distance, type Fingerprint } from './simhash.js';

/** Fingerprints that differ in at most this many bits belong to near duplicates (Manku 2007). */
export const DISTANCE_MAX = 3;
/** Blocks of 16 bits: of four, one is equal where at most three bits differ. */
const BLOCKS = 4;
const NONE = -1;

/**
 * A growing set of fingerprints that finds near ones; about 28 bytes for each. Every fingerprint
 * carries a tag, a 32-bit hash, and only those with the same tag can be near: reference pages made
 * from one template differ in few words, but their titles tell them apart.
 */
export interface NearSet {
  readonly size: number;
  /** Whether a fingerprint within 3 bits and with this tag is in the set. */
  hasNear(fingerprint: Fingerprint, tag: number): boolean;
  add(fingerprint: Fingerprint, tag: number): void;
}

export function createNearSet(): NearSet {
  let capacity = 1_024;
  let halves = new Uint32Array(capacity * 2);
  let tags = new Uint32Array(capacity);
  let next = new Int32Array(capacity * BLOCKS);
  const heads = new Int32Array(BLOCKS * 65_536).fill(NONE);
  let size = 0;
  const grow = (): void => {
    capacity *= 2;
    const [oldHalves, oldTags, oldNext] = [halves, tags, next];
    halves = new Uint32Array(capacity * 2);
    halves.set(oldHalves);
    tags = new Uint32Array(capacity);
    tags.set(oldTags);
    next = new Int32Array(capacity * BLOCKS);
    next.set(oldNext);
  };
  return {
    get size() {
      return size;
    },
    hasNear: (fingerprint, tag) => {
      for (let block = 0; block < BLOCKS; block += 1) {
        let at = heads[slotOf(fingerprint, block)] ?? NONE;
        while (at !== NONE) {
          const other = { high: halves[at * 2] ?? 0, low: halves[at * 2 + 1] ?? 0 };
          if (tags[at] === tag && distance(fingerprint, other) <= DISTANCE_MAX) return true;
          at = next[at * BLOCKS + block] ?? NONE;
        }
      }
      return false;
    },
    add: (fingerprint, tag) => {
      if (size === capacity) grow();
      halves[size * 2] = fingerprint.high;
      halves[size * 2 + 1] = fingerprint.low;
      tags[size] = tag;
      for (let block = 0; block < BLOCKS; block += 1) {
        const slot = slotOf(fingerprint, block);
        next[size * BLOCKS + block] = heads[slot] ?? NONE;
        heads[slot] = size;
      }
      size += 1;
    },
  };
}

function slotOf({ high, low }: Fingerprint, block: number): number {
  const half = block < 2 ? high : low;
  const bits = block % 2 === 0 ? half >>> 16 : half & 0xffff;
  return block * 65_536 + bits;
}
