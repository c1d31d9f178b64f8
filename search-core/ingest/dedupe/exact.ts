import { createHash } from 'node:crypto';

/**
 * A growing set of texts that keeps only 63 bits of each (of SHA-256): about 20 bytes a text.
 * Two different texts among n are taken for equal with a probability of about n² / 2⁶⁴: one in a
 * million at four million texts.
 */
export interface TextSet {
  /** Adds a text; false when it was there already. */
  add(text: string): boolean;
}

export function createTextSet(): TextSet {
  let slots = new BigUint64Array(1_024);
  let size = 0;
  const place = (into: BigUint64Array, key: bigint): boolean => {
    const mask = into.length - 1;
    for (let at = Number(key & 0xffff_ffffn) & mask; ; at = (at + 1) & mask) {
      if (into[at] === key) return false;
      if (into[at] === 0n) {
        into[at] = key;
        return true;
      }
    }
  };
  return {
    add: (text) => {
      const digest = createHash('sha256').update(text).digest();
      // 0 marks a free slot, so no key is 0.
      if (!place(slots, digest.readBigUInt64LE() | (1n << 63n))) return false;
      size += 1;
      if (size * 2 > slots.length) {
        const larger = new BigUint64Array(slots.length * 2);
        for (const key of slots) if (key !== 0n) place(larger, key);
        slots = larger;
      }
      return true;
    },
  };
}
