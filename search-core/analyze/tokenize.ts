import { foldBeyondAscii } from './fold.js';

/**
 * Cuts text into words. A word is a run of letters and digits; everything else separates, and the
 * parts of a compound stay neighbours, so that nearness and phrases find it whole:
 *
 *     snake_case      → snake case          well-known → well known
 *     don't, don’t    → don t               3.14       → 3 14
 *     node.js         → node js             Café       → cafe
 *     https://a.example/docs?x=1 → https a example docs x 1
 *
 * Three spellings carry their meaning in a symbol. The word with its symbol is a further word at
 * the position of the plain one: a page on C++ is found by `C++` and by `c`, one on C only by `c`.
 *
 *     C++ → c, c++    C#, F# → c, c#; f, f#    .NET, ASP.NET → net, .net; asp net, .net
 *
 * A run of more than 64 bytes is cut into neighbouring words of at most 64.
 */
export const WORD_BYTES_MAX = 64;

const SEPARATOR = 255;
const [PLUS, HASH, DOT, N, E, T] = [0x2b, 0x23, 0x2e, 0x6e, 0x65, 0x74];

/** ASCII byte → the byte of its folded word, or SEPARATOR. Bytes of longer characters stay. */
const FOLDED = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return byte === SEPARATOR ? 0x80 : byte;
  const character = String.fromCharCode(byte);
  return /[0-9a-z]/i.test(character) ? character.toLowerCase().charCodeAt(0) : SEPARATOR;
});

/** The words of one text, reused from text to text: no object is made per word. */
export class Tokens {
  /** The words' folded bytes, one after the other. */
  bytes = new Uint8Array(1 << 16);
  /** Where each word ends in `bytes`; it starts where the one before ends. */
  ends = new Int32Array(1 << 14);
  /** A 32-bit hash of each word's bytes. */
  hashes = new Int32Array(1 << 14);
  /** 1 where a word stands at the same position as the one before it. */
  stacked = new Uint8Array(1 << 14);
  count = 0;

  /** Makes room for the words of `length` bytes: at most one plain and one stacked word in two. */
  reset(length: number): void {
    this.count = 0;
    if (this.bytes.length < 4 * length + 64) this.bytes = new Uint8Array(6 * length + 64);
    if (this.ends.length < length + 2) {
      const capacity = 2 * length + 2;
      this.ends = new Int32Array(capacity);
      this.hashes = new Int32Array(capacity);
      this.stacked = new Uint8Array(capacity);
    }
  }

  start(word: number): number {
    return word === 0 ? 0 : (this.ends[word - 1] ?? 0);
  }

  /** The word as a string. */
  text(word: number): string {
    return decoder.decode(this.bytes.subarray(this.start(word), this.ends[word]));
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
let input = new Uint8Array(1 << 16);

/** Folds `text` into the shared input buffer; returns its length in bytes. */
function encodeFolded(text: string): number {
  if (input.length < 3 * text.length) input = new Uint8Array(4 * text.length);
  const { written } = encoder.encodeInto(text, input);
  if (written === text.length) return written;
  const folded = foldBeyondAscii(text);
  if (input.length < 3 * folded.length) input = new Uint8Array(4 * folded.length);
  return encoder.encodeInto(folded, input).written;
}

/** A word's hash, from the running FNV-1a value: a last mix spreads it over all bits. */
function finish(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  return finish(hash);
}

/** Cuts `text` into `tokens`, replacing what was there. */
export function tokenize(text: string, tokens: Tokens): void {
  const length = encodeFolded(text);
  tokens.reset(length);
  const { bytes, ends, hashes, stacked } = tokens;
  const source = input;
  let count = 0;
  let out = 0;
  let at = 0;
  while (at < length) {
    let byte = FOLDED[source[at] ?? 0] ?? SEPARATOR;
    if (byte === SEPARATOR) {
      at++;
      continue;
    }
    const start = at;
    const limit = Math.min(length, at + WORD_BYTES_MAX);
    let hash = 0x811c9dc5 | 0;
    do {
      bytes[out++] = byte;
      hash = Math.imul(hash ^ byte, 0x01000193);
      at++;
      byte = at < limit ? (FOLDED[source[at] ?? 0] ?? SEPARATOR) : SEPARATOR;
    } while (byte !== SEPARATOR);
    ends[count] = out;
    hashes[count] = finish(hash);
    stacked[count] = 0;
    count++;
    const symbol = symbolForm(source, start, at, length, bytes, out);
    if (symbol > 0) {
      hashes[count] = hashBytes(bytes, out, out + symbol);
      out += symbol;
      ends[count] = out;
      stacked[count] = 1;
      count++;
    }
  }
  tokens.count = count;
}

/** Writes the symbol form of the word `start…end`, if it has one; returns its length or 0. */
function symbolForm(
  source: Uint8Array,
  start: number,
  end: number,
  length: number,
  out: Uint8Array,
  at: number,
): number {
  const size = end - start;
  const next = end < length ? (source[end] ?? 0) : 0;
  if (next === PLUS || next === HASH) {
    const after = next === PLUS ? end + 2 : end + 1;
    if (next === PLUS && source[end + 1] !== PLUS) return 0;
    if (next === HASH && size > 2) return 0;
    if (after > length || (after < length && isWordOr(source[after] ?? 0, next))) return 0;
    out.copyWithin(at, at - size, at);
    out.fill(next, at + size, at + size + after - end);
    return size + after - end;
  }
  if (size !== 3 || start === 0 || source[start - 1] !== DOT) return 0;
  if (out[at - 3] !== N || out[at - 2] !== E || out[at - 1] !== T) return 0;
  out[at] = DOT;
  out.copyWithin(at + 1, at - 3, at);
  return 4;
}

function isWordOr(byte: number, symbol: number): boolean {
  return byte === symbol || FOLDED[byte] !== SEPARATOR;
}

const scratch = new Tokens();

/** The words of a short text as strings, plain forms only: for tests, tools and passages. */
export function words(text: string): string[] {
  tokenize(text, scratch);
  const found: string[] = [];
  for (let i = 0; i < scratch.count; i++) if (scratch.stacked[i] === 0) found.push(scratch.text(i));
  return found;
}

/** The words of a query: where a word has a symbol form, that is the one that is asked for. */
export function queryTerms(text: string): string[] {
  tokenize(text, scratch);
  const found: string[] = [];
  for (let i = 0; i < scratch.count; i++) {
    if (scratch.stacked[i] === 1) found.pop();
    found.push(scratch.text(i));
  }
  return found;
}
