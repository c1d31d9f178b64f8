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

const [PLUS, HASH, DOT, N, E, T] = [0x2b, 0x23, 0x2e, 0x6e, 0x65, 0x74];

/** Stands in FOLDED with a byte that is part of a word. */
const IN_WORD = 0x100;

/** UTF-8 byte → itself in lower case, and IN_WORD for letters, digits and bytes beyond ASCII. */
const FOLDED = Int32Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte >= 0x80) return byte | IN_WORD;
  return /[0-9a-z]/i.test(character) ? character.toLowerCase().charCodeAt(0) | IN_WORD : byte;
});

/** The words of one text, reused from text to text: no object is made per word. */
export class Tokens {
  /** The folded text; the words lie in it. Behind its end are at least 8 bytes more. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16);
  /** The same bytes. */
  view = new DataView(this.bytes.buffer);
  /** Where runs of word bytes start and end, by turns. */
  edges = new Int32Array(1 << 14);
  /** Where each word starts and ends in `bytes`; those of a word and its symbol form overlap. */
  starts = new Int32Array(1 << 14);
  ends = new Int32Array(1 << 14);
  /** 1 where a word stands at the same position as the one before it. */
  stacked = new Uint8Array(1 << 14);
  count = 0;
  /** Words that are not stacked. */
  positions = 0;

  /** Puts `text` into `bytes`, folded beyond ASCII; makes room for its words; returns its bytes. */
  fill(text: string): number {
    let length = this.encode(text);
    if (length !== text.length) length = this.encode(foldBeyondAscii(text));
    if (this.ends.length < length + 2) {
      const capacity = 2 * length + 2;
      this.edges = new Int32Array(capacity);
      this.starts = new Int32Array(capacity);
      this.ends = new Int32Array(capacity);
      this.stacked = new Uint8Array(capacity);
    }
    this.count = this.positions = 0;
    return length;
  }

  /** How many words stand at the first `positionsMax` positions, and at how many positions. */
  within(positionsMax: number): { readonly count: number; readonly positions: number } {
    const { count, positions } = this;
    if (positions <= positionsMax) return { count, positions };
    let words = 0;
    for (let left = positionsMax; left > 0 || this.stacked[words] === 1; words++) {
      if (this.stacked[words] === 0) left--;
    }
    return { count: words, positions: positionsMax };
  }

  /** The word as a string. */
  text(word: number): string {
    return decoder.decode(this.bytes.subarray(this.starts[word], this.ends[word]));
  }

  private encode(text: string): number {
    const needed = 3 * text.length + 8;
    if (this.bytes.length < needed) {
      this.bytes = new Uint8Array(2 * needed);
      this.view = new DataView(this.bytes.buffer);
    }
    const { written } = encoder.encodeInto(text, this.bytes);
    // What is behind the end does not belong to a word.
    this.bytes.fill(0, written, written + 8);
    return written;
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A 32-bit hash of bytes (FNV-1a, then mixed so that it spreads over all bits); files keep it. */
export function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5 | 0;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

/** Cuts `text` into `tokens`, replacing what was there. */
export function tokenize(text: string, tokens: Tokens): void {
  const runs = foldRuns(tokens, tokens.fill(text));
  const { bytes, edges, starts, ends, stacked } = tokens;
  let count = 0;
  let symbols = 0;
  for (let run = 0; run < runs; run++) {
    let start = edges[2 * run] ?? 0;
    const end = edges[2 * run + 1] ?? 0;
    for (; end - start > WORD_BYTES_MAX; start += WORD_BYTES_MAX) {
      starts[count] = start;
      ends[count] = start + WORD_BYTES_MAX;
      stacked[count++] = 0;
    }
    starts[count] = start;
    ends[count] = end;
    stacked[count++] = 0;
    const next = bytes[end] ?? 0;
    if (next === PLUS || next === HASH) {
      const after = symbolEnd(bytes, start, end);
      if (after === 0) continue;
      starts[count] = start;
      ends[count] = after;
    } else if (end - start === 3 && isDotNet(bytes, start)) {
      starts[count] = start - 1;
      ends[count] = end;
    } else continue;
    stacked[count++] = 1;
    symbols++;
  }
  tokens.count = count;
  tokens.positions = count - symbols;
}

/**
 * Folds the case of ASCII, and writes where the runs of word bytes start and end to `edges`;
 * returns how many there are. There is no branch in it: words are so short that a processor would
 * guess most of their ends wrong.
 */
function foldRuns({ bytes, edges }: Tokens, length: number): number {
  let count = 0;
  let before = 0;
  for (let at = 0; at <= length; at++) {
    const folded = FOLDED[bytes[at] ?? 0] ?? 0;
    bytes[at] = folded;
    const kind = folded >> 8;
    edges[count] = at;
    count += kind ^ before;
    before = kind;
  }
  return count >> 1;
}

/** Where the form with + + or # ends of a word that one of them stands behind; 0 if it has none. */
function symbolEnd(bytes: Uint8Array, start: number, end: number): number {
  const symbol = bytes[end] ?? 0;
  if (symbol === PLUS && bytes[end + 1] !== PLUS) return 0;
  if (symbol === HASH && end - start > 2) return 0;
  const after = symbol === PLUS ? end + 2 : end + 1;
  const next = bytes[after] ?? 0;
  return next === symbol || (FOLDED[next] ?? 0) >= IN_WORD ? 0 : after;
}

/** Whether the three bytes from `start` on are the end of ".net". */
function isDotNet(bytes: Uint8Array, start: number): boolean {
  return (
    bytes[start - 1] === DOT &&
    bytes[start] === N &&
    bytes[start + 1] === E &&
    bytes[start + 2] === T
  );
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
