/**
 * The quality floor: pages that hold too little prose to be an answer. The measures are those of
 * Gopher (Rae et al. 2021, arXiv:2112.11446, appendix A.1.1) and MassiveText's repetition rules,
 * with gentler limits, because reference pages are rightly full of symbols and short lines.
 */
export type QualityFault =
  /** Nothing left after extraction. */
  | 'empty'
  /** Fewer words than an answer needs. */
  | 'too_short'
  /** Mostly symbols, numbers or encoded data. */
  | 'not_prose'
  /** The same lines over and over. */
  | 'repetitive'
  /** A placeholder: error page, login wall, parked domain, "enable JavaScript". */
  | 'placeholder';

const WORDS_MIN = 25;
/** Share of the tokens with a letter or a digit that hold a letter (Gopher: 0.8 of all). */
const LETTER_TOKENS_MIN = 0.5;
const TOKEN_LENGTH_MEAN_MAX = 30;
/** Share of the characters that stand in lines seen before (Gopher: 0.2). */
const REPEATED_MAX = 0.75;
/** Only short pages can be placeholders: a long page may quote these sentences. */
const PLACEHOLDER_WORDS_MAX = 60;
const PLACEHOLDERS =
  /\b(?:(?:page|file|document) (?:you (?:requested|are looking for) )?(?:was |could )?(?:not be |not )found|404 not found|403 forbidden|access denied|(?:please )?(?:enable|turn on) (?:javascript|cookies)|javascript is (?:disabled|required)|checking your browser|verify (?:that )?you are (?:a )?human|domain (?:is|may be) for sale|this domain is parked|under construction|lorem ipsum dolor|index of \/)/iu;

/** Characters read at the most; a page's nature shows well before that. */
const SAMPLE = 50_000;

/** Why a page should not be indexed, or undefined when it may be. */
export function qualityFault(text: string): QualityFault | undefined {
  const sample = text.slice(0, SAMPLE);
  const tokens = (sample.match(/\S+/gu) ?? []).filter((token) => /[\p{L}\p{N}]/u.test(token));
  if (tokens.length === 0) return 'empty';
  const words = tokens.filter((token) => /\p{L}/u.test(token));
  if (words.length < WORDS_MIN) return 'too_short';
  if (words.length <= PLACEHOLDER_WORDS_MAX && PLACEHOLDERS.test(sample)) return 'placeholder';
  const length = tokens.reduce((sum, token) => sum + token.length, 0) / tokens.length;
  if (words.length / tokens.length < LETTER_TOKENS_MIN || length > TOKEN_LENGTH_MEAN_MAX) {
    return 'not_prose';
  }
  return repeatedShare(sample) > REPEATED_MAX ? 'repetitive' : undefined;
}

/** The share of a text's characters that stand in lines which already occurred. */
function repeatedShare(text: string): number {
  const seen = new Set<string>();
  let repeated = 0;
  let all = 0;
  for (const line of text.split('\n')) {
    const bare = line.trim();
    all += bare.length;
    if (seen.has(bare)) repeated += bare.length;
    seen.add(bare);
  }
  return all === 0 ? 0 : repeated / all;
}
