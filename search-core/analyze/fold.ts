/**
 * Folding: letters lose case and diacritics, so that `Café`, `CAFE` and `cafe` are one word. There
 * is no stemming, no synonym and no correction: the specification asks for exact words.
 *
 * Only characters beyond ASCII are folded here; ASCII case is folded while tokens are cut.
 */

/** Letters that Unicode does not decompose but that English readers spell in ASCII. */
const SPELLED: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
};

const CACHE_MAX = 10_000;
const cache = new Map<string, string>();

/** Compatibility decomposition (UAX #15), marks and format characters dropped, lower case. */
function foldRun(run: string): string {
  return run
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{M}\p{Cf}]+/gu, '')
    .replace(/[ßæœøđðþłħı]/gu, (letter) => SPELLED[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, (other) => other.replace(/[^\0-\x7f]/gu, ' '));
}

/**
 * Folds every run of characters beyond ASCII. What is left beyond ASCII is a letter or a digit;
 * everything else became a space.
 */
export function foldBeyondAscii(text: string): string {
  return text.replace(/[^\x00-\x7f]+/g, (run) => {
    const known = cache.get(run);
    if (known !== undefined) return known;
    const folded = foldRun(run);
    if (run.length <= 16) {
      if (cache.size >= CACHE_MAX) cache.clear();
      cache.set(run, folded);
    }
    return folded;
  });
}
