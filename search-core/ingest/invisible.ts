/**
 * Characters that nobody sees and a model reads: the places in which pages hide instructions
 * (Unicode Technical Report 36, 3.6 and 3.7; Unicode Standard Annex 9, 2; Boucher and others, "Bad
 * Characters", IEEE S&P 2022). docs/search-core.md lists each with what was measured.
 */
const UNSEEN = [
  '\\u00AD', // soft hyphen
  '\\u034F', // combining grapheme joiner
  '\\u061C\\u200E\\u200F', // direction marks
  '\\u115F\\u1160\\u3164\\uFFA0', // Hangul fillers
  '\\u17B4\\u17B5', // Khmer inherent vowels
  '\\u180B-\\u180F', // Mongolian variation selectors and vowel separator
  '\\u200B', // zero-width space
  '\\u202A-\\u202E\\u2066-\\u2069', // embeddings, overrides and isolates of the bidirectional algorithm
  '\\u2060-\\u2065\\u206A-\\u206F', // word joiner, invisible operators, deprecated format characters
  '\\uFE00-\\uFE0F\\u{E0100}-\\u{E01EF}', // variation selectors: 256 of them write any byte
  '\\uFEFF\\uFFF9-\\uFFFB', // byte order mark, interlinear annotation
  '\\u{1BCA0}-\\u{1BCA3}\\u{1D173}-\\u{1D17A}', // shorthand and musical format characters
  '\\u{E0000}-\\u{E007F}', // tag characters: ASCII over again, unseen
].join('');
const INVISIBLE = new RegExp(`[${UNSEEN}]`, 'gu');

/**
 * The joiners shape Persian and Indic words, and emoji. Between others, and in a row, they say
 * nothing: two of them are enough to write in binary.
 */
const IDLE_JOINER =
  /(?<![^\u0000-\u02FF\u200C\u200D])[\u200C\u200D]|[\u200C\u200D](?![^\u0000-\u02FF\u200C\u200D])/gu;

/** Text without what nobody sees. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE, '').replace(IDLE_JOINER, '');
}
