/**
 * Frame of reference packing: 128 values, each in as many bits as the largest needs, in 32-bit
 * words from the lowest bit up (Zukowski et al., "Super-scalar RAM-CPU cache compression", ICDE
 * 2006; Lemire and Boytsov, "Decoding billions of integers per second through vectorization",
 * 2015). 32 values of b bits fill b words exactly, so a block is 4·b words.
 */
export const BLOCK_BITS = 7;
export const BLOCK = 1 << BLOCK_BITS;

/** Bits that the largest of 128 values needs: 0 to 32. */
export function bitsFor(values: Int32Array, from = 0): number {
  let all = 0;
  for (let i = from; i < from + BLOCK; i++) all |= values[i] ?? 0;
  return 32 - Math.clz32(all);
}

/** Packs 128 values of at most `bits` bits into `words` from `at`; returns the words used. */
export function pack(
  values: Int32Array,
  bits: number,
  words: Int32Array,
  at: number,
  from = 0,
): number {
  PACKERS[bits]?.(values, from, words, at);
  return 4 * bits;
}

type Pack = (values: Int32Array, from: number, words: Int32Array, at: number) => void;

/** An encoder without a loop over bits: written out for one width, like the decoders. */
function compilePacker(bits: number): Pack {
  const words = Array.from({ length: bits }, (): string[] => []);
  for (let i = 0; i < 32 && bits > 0; i++) {
    const word = (i * bits) >> 5;
    const shift = (i * bits) & 31;
    words[word]?.push(`(values[from + ${i}] << ${shift})`);
    if (shift + bits > 32) words[word + 1]?.push(`(values[from + ${i}] >>> ${32 - shift})`);
  }
  const lines = words.map((parts, word) => `words[at + ${word}] = ${parts.join(' | ')};`);
  const body = `for (let n = 0; n < ${BLOCK}; n += 32, from += 32, at += ${bits}) {\n${lines.join('\n')}\n}`;
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- as for the decoders
  return new Function('values', 'from', 'words', 'at', body) as Pack;
}

type Unpack = (words: Int32Array, at: number, out: Int32Array, base: number) => void;

/** The expression for the i-th of 32 values of `bits` bits in the words from `at`. */
function extract(bits: number, i: number): string {
  if (bits === 0) return '0';
  const word = (i * bits) >> 5;
  const shift = (i * bits) & 31;
  const low = shift === 0 ? `words[at + ${word}]` : `(words[at + ${word}] >>> ${shift})`;
  if (bits === 32) return low;
  const mask = 2 ** bits - 1;
  if (shift + bits <= 32) return `${low} & ${mask}`;
  return `(${low} | (words[at + ${word + 1}] << ${32 - shift})) & ${mask}`;
}

/**
 * A decoder without a loop over bits: written out for one width. The source is made of numbers
 * from 0 to 32 only.
 */
function compile(bits: number, store: (i: number, value: string) => string): Unpack {
  const lines = Array.from({ length: 32 }, (_, i) => store(i, extract(bits, i)));
  const body = `for (let o = 0; o < ${BLOCK}; o += 32, at += ${bits}) {\n${lines.join('\n')}\n}`;
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- 66 unrolled loops by hand are worse
  return new Function('words', 'at', 'out', 'base', body) as Unpack;
}

const WIDTHS = Array.from({ length: 33 }, (_, bits) => bits);
const PACKERS = WIDTHS.map(compilePacker);
const PLAIN = WIDTHS.map((bits) => compile(bits, (i, value) => `out[o + ${i}] = ${value};`));
const ASCENDING = WIDTHS.map((bits) =>
  compile(bits, (i, value) => `out[o + ${i}] = base += 1 + (${value});`),
);

/** Unpacks 128 values of `bits` bits. */
export function unpack(words: Int32Array, at: number, bits: number, out: Int32Array): void {
  PLAIN[bits]?.(words, at, out, 0);
}

/**
 * Unpacks `count` of 128 gaps (each less by one) from the `first` on, without the others, into the
 * ascending values after `base`, to `out` from `to` on; returns the last.
 */
export function unpackSome(
  words: Int32Array,
  at: number,
  bits: number,
  first: number,
  count: number,
  out: Int32Array,
  to: number,
  base: number,
): number {
  const unused = 32 - bits;
  let value = base;
  let bit = first * bits;
  for (let i = 0; i < count; i++) {
    const word = at + (bit >> 5);
    const shift = bit & 31;
    let gap = bits === 0 ? 0 : (words[word] ?? 0) >>> shift;
    if (shift > unused) gap |= (words[word + 1] ?? 0) << (32 - shift);
    value += 1 + ((gap << unused) >>> unused);
    out[to + i] = value;
    bit += bits;
  }
  return value;
}

/** Unpacks 128 gaps (each less by one) into the strictly ascending values after `base`. */
export function unpackAscending(
  words: Int32Array,
  at: number,
  bits: number,
  out: Int32Array,
  base: number,
): void {
  ASCENDING[bits]?.(words, at, out, base);
}
