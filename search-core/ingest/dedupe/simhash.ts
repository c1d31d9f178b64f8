/**
 * SimHash: a 64-bit fingerprint in which similar texts differ in few bits.
 * M. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002; for web
 * pages: G. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
 * whose bound (at most 3 of 64 bits differ) is the one used here.
 * Features are the text's distinct word triples. Weighing them by their number, as the papers do,
 * made pages near that share nothing but one often repeated row.
 */

/** The upper and lower half of a fingerprint, unsigned 32-bit integers. */
export interface Fingerprint {
  readonly high: number;
  readonly low: number;
}

const SHINGLE_WORDS = 3;
/** Words read at the most: beyond them a page's fingerprint hardly moves. */
const WORDS_MAX = 20_000;

/** The fingerprint of a text; case, punctuation and white space do not count. */
export function simhash(text: string): Fingerprint {
  const votes = new Int32Array(64);
  for (const feature of featuresOf(text)) {
    addBits(votes, 0, scramble(feature));
    addBits(votes, 32, scramble(feature ^ 0x5bd1e995));
  }
  return { high: half(votes, 0), low: half(votes, 32) };
}

function featuresOf(text: string): Set<number> {
  const features = new Set<number>();
  let a = 0;
  let b = 0;
  let count = 0;
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    const c = hash(word);
    count += 1;
    if (count >= SHINGLE_WORDS) {
      features.add(Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca77) ^ c);
    }
    a = b;
    b = c;
    if (count >= WORDS_MAX) break;
  }
  return features;
}

function addBits(votes: Int32Array, from: number, bits: number): void {
  for (let bit = 0; bit < 32; bit += 1) {
    votes[from + bit] = (votes[from + bit] ?? 0) + (((bits >>> bit) & 1) * 2 - 1);
  }
}

function half(votes: Int32Array, from: number): number {
  let bits = 0;
  for (let bit = 0; bit < 32; bit += 1) if ((votes[from + bit] ?? 0) > 0) bits |= 1 << bit;
  return bits >>> 0;
}

/** A 32-bit hash of a text: FNV-1a over UTF-16 code units (draft-eastlake-fnv). */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  return scramble(state);
}

/** The finaliser of MurmurHash3 (A. Appleby): every input bit reaches every output bit. */
function scramble(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Bits in which two fingerprints differ, 0 to 64. */
export function distance(a: Fingerprint, b: Fingerprint): number {
  return ones(a.high ^ b.high) + ones(a.low ^ b.low);
}

/** Set bits of a 32-bit integer (Hacker's Delight, 5-1). */
function ones(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
