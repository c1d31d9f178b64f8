import type { SearchResultItem } from '../../../../search-core/contract.js';
import { bareWords } from '../ui/hits.js';

/** Words that are in nearly every English page, so that they tell no page from another. */
const COMMON = new Set(
  'a an and are as at be by can do does for from how i in is it my of on or should the this to was what when where which who why will with you your'.split(
    ' ',
  ),
);

/** From this many words on, few pages hold them all. */
const MANY_WORDS = 9;

/** What may be wrong with a query, from its words and from what it found; a sentence each. */
export function adviceOn(query: string, found: readonly SearchResultItem[]): readonly string[] {
  const words = bareWords(query);
  const text = found
    .map(({ title, description }) => `${title} ${description}`.toLowerCase())
    .join(' ');
  const seen = new Set(bareWords(text));
  const missing = found.length === 0 ? [] : words.filter((word) => !seen.has(word));
  const common = words.filter((word) => COMMON.has(word));
  return [
    ...(missing.length > 0
      ? [`Not in these passages: ${quoted(missing)}. Check the spelling, or leave it out.`]
      : []),
    ...(common.length > 0 && words.length > common.length
      ? [`Leave out ${quoted(common)}: nearly every page has it.`]
      : []),
    ...(query.trim().endsWith('?') ? ['Ask with keywords, not with a question.'] : []),
    ...(words.length >= MANY_WORDS ? ['Two to eight words work best.'] : []),
    ...(found.length === 0
      ? ['Search is literal: no synonyms and no spelling correction. Try fewer words.']
      : []),
  ];
}

/** The query without each of its words in turn: what to try when nothing was found. */
export function shorterQueries(query: string): readonly string[] {
  const words = query.split(/\s+/).filter((word) => word !== '');
  if (words.length < 2 || words.length > 6) return [];
  return words.map((_, left) => words.filter((__, at) => at !== left).join(' '));
}

const quoted = (words: readonly string[]): string => words.map((word) => `“${word}”`).join(', ');
