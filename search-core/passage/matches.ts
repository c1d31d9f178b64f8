import { queryTerms, words } from '../analyze/tokenize.js';

/** Words of a query in a text, in text order; parallel arrays. */
export interface Matches {
  /** Where the word starts, in UTF-16 code units. */
  readonly offsets: number[];
  /** Which word it is: its index among the query's distinct words. */
  readonly terms: number[];
  /** The how-manieth word of the text it is. */
  readonly ordinals: number[];
}

/** At most so many characters are looked at: the passages of a longer page come from its start. */
const TEXT_LENGTH_MAX = 400_000;

const [PLUS, HASH, DOT] = [0x2b, 0x23, 0x2e];

/** Character code → folded ASCII letter or digit, or 0. */
const WORD = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[0-9a-z]/i.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/**
 * Finds words in a text without making a string for each of the others: an ASCII word is compared by
 * a rolling hash first. Words beyond ASCII, and those that a symbol may follow, are folded properly.
 */
export class TermFinder {
  private readonly numbers: ReadonlyMap<string, number>;
  /** 1 at n where a wanted word's hash is n modulo 1024: almost all words end here. */
  private readonly filter = new Uint8Array(1024);

  constructor(terms: readonly string[]) {
    this.numbers = new Map(terms.map((term, i) => [term, i]));
    for (const term of terms) {
      // The plain word of `c++`, `c#` or `.net`.
      const plain = /[0-9a-z]+/.exec(term)?.[0] ?? '';
      let hash = 0;
      for (let i = 0; i < plain.length; i++) hash = (Math.imul(hash, 31) + plain.charCodeAt(i)) | 0;
      this.filter[hash & 1023] = 1;
    }
  }

  find(text: string): Matches {
    const matches: Matches = { offsets: [], terms: [], ordinals: [] };
    const length = Math.min(text.length, TEXT_LENGTH_MAX);
    let ordinal = 0;
    for (let at = 0; at < length;) {
      let code = text.charCodeAt(at);
      let letter = code < 128 ? (WORD[code] ?? 0) : code;
      if (letter === 0) {
        at++;
        continue;
      }
      const start = at;
      let hash = 0;
      let beyond = 0;
      do {
        hash = (Math.imul(hash, 31) + letter) | 0;
        beyond |= code;
        code = ++at < length ? text.charCodeAt(at) : 0;
        letter = code < 128 ? (WORD[code] ?? 0) : code;
      } while (letter !== 0);
      if (beyond >= 128) this.addFolded(text, start, at, ordinal, matches);
      else if (this.filter[hash & 1023] === 1) this.addAscii(text, start, at, ordinal, matches);
      ordinal++;
    }
    return matches;
  }

  private addAscii(text: string, start: number, end: number, ordinal: number, out: Matches): void {
    const word = text.slice(start, end).toLowerCase();
    this.add(word, start, ordinal, out);
    const next = text.charCodeAt(end);
    const mayHaveSymbol = next === PLUS || next === HASH || word === 'net';
    if (mayHaveSymbol) this.addFolded(text, start, end, ordinal, out, word);
  }

  /** Looks at a run with characters beyond ASCII, or at a symbol, as the analyzer does. */
  private addFolded(
    text: string,
    start: number,
    end: number,
    ordinal: number,
    out: Matches,
    known?: string,
  ): void {
    const from = start > 0 && text.charCodeAt(start - 1) === DOT ? start - 1 : start;
    const plain = words(text.slice(start, end));
    const asked = queryTerms(text.slice(from, end + 3)).slice(0, plain.length);
    for (const word of new Set([...plain, ...asked])) {
      if (word !== known) this.add(word, start, ordinal, out);
    }
  }

  private add(word: string, start: number, ordinal: number, out: Matches): void {
    const number = this.numbers.get(word);
    if (number === undefined) return;
    out.offsets.push(start);
    out.terms.push(number);
    out.ordinals.push(ordinal);
  }
}
