import { createHash } from 'node:crypto';
import { addressText } from '../../analyze/address.js';
import { queryTerms } from '../../analyze/tokenize.js';
import { ADDRESS_START, BODY_START } from '../../rank/nearness.js';
import type { Page } from '../../page.js';
import { cleanText } from '../../passage/clean.js';

/** Longer texts are cut here, as in the embedded engine. */
const PAGE_TEXT_LENGTH_MAX = 4_000_000;

/**
 * How an index is made. Words are cut here, not there: a document carries its title's and its
 * text's words with one space between, a word with a symbol as that (`c++`), so that both engines
 * agree on what a word is. All that is left to OpenSearch is to put the plain word beside the one
 * with the symbol, at the same position. Words serve the search and are not kept in `_source`.
 *
 * New pages are found after a commit and not before: the index never refreshes by itself.
 */
export const INDEX = {
  settings: {
    index: { refresh_interval: '-1' },
    analysis: {
      filter: {
        plain_words: {
          type: 'pattern_capture',
          preserve_original: true,
          patterns: ['^([^+#.]+)(?:\\+\\+|#)$', '^\\.(net)$'],
        },
      },
      analyzer: {
        words: { type: 'custom', tokenizer: 'whitespace', filter: ['plain_words'] },
      },
    },
  },
  mappings: {
    dynamic: false,
    _source: { excludes: ['title_words', 'body_words'] },
    properties: {
      title_words: { type: 'text', analyzer: 'words', search_analyzer: 'whitespace' },
      body_words: { type: 'text', analyzer: 'words', search_analyzer: 'whitespace' },
      /** Ascends with every page: equal pages are found in the order in which they came. */
      order: { type: 'long' },
    },
  },
} as const;

/** A page as OpenSearch keeps it. */
interface Document extends Page {
  /** The title's words, and those of the address: two values, between which no phrase reaches. */
  readonly title_words: readonly string[];
  readonly body_words: string;
  readonly order: number;
}

/** A page's identity: URLs may be longer than the 512 bytes that OpenSearch has for it. */
export function idOf(url: string): string {
  return createHash('sha256').update(url).digest('base64url');
}

export function documentOf({ url, title, text }: Page, order: number): Document {
  const stored = cleanText(text.slice(0, PAGE_TEXT_LENGTH_MAX));
  return {
    url,
    title,
    text: stored,
    title_words: [
      wordsOf(title, ADDRESS_START - 1),
      wordsOf(addressText(url), BODY_START - 1 - ADDRESS_START),
    ],
    body_words: queryTerms(stored).join(' '),
    order,
  };
}

function wordsOf(text: string, wordsMax: number): string {
  return queryTerms(text).slice(0, wordsMax).join(' ');
}
