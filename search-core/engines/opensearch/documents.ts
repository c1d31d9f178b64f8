import { createHash } from 'node:crypto';
import { addressText } from '../../analyze/address.js';
import { queryTerms } from '../../analyze/tokenize.js';
import { lengthCode, LENGTHS } from '../../rank/bm25f.js';
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
 *
 * `words` has each word of the page once: how many pages hold a word, whichever field it is in, decides
 * what it weighs. Lengths are this project's coded ones, for their averages.
 */
const INDEX = {
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
    _source: { excludes: ['title_words', 'body_words', 'words'] },
    properties: {
      title_words: { type: 'text', analyzer: 'words', search_analyzer: 'whitespace' },
      body_words: { type: 'text', analyzer: 'words', search_analyzer: 'whitespace' },
      words: {
        type: 'text',
        analyzer: 'words',
        search_analyzer: 'whitespace',
        norms: false,
        index_options: 'docs',
      },
      body_length: { type: 'float', index: false },
      title_length: { type: 'float', index: false },
      /** Ascends with every page: equal pages are found in the order in which they came. */
      order: { type: 'long' },
    },
  },
} as const;

/** How an index is spread over the cluster. */
export interface Layout {
  /** Parts, each of which has some of the pages: they cannot be more than when the index was made. */
  readonly shards: number;
  /** Copies of each shard besides the first. */
  readonly replicas: number;
}

export const ONE_SHARD: Layout = { shards: 1, replicas: 0 };

/** The body of the call that makes an index. */
export function indexBody({ shards, replicas }: Layout, notes?: object): object {
  const { index, ...others } = INDEX.settings;
  return {
    settings: {
      ...others,
      index: { ...index, number_of_shards: shards, number_of_replicas: replicas },
    },
    mappings: { ...INDEX.mappings, ...(notes && { _meta: notes }) },
  };
}

/** A page as OpenSearch keeps it. */
interface Document extends Page {
  /** The title's words, and those of the address: two values, between which no phrase reaches. */
  readonly title_words: readonly string[];
  readonly body_words: string;
  readonly words: string;
  readonly body_length: number;
  readonly title_length: number;
  readonly order: number;
}

/** A page's identity: URLs may be longer than the 512 bytes that OpenSearch has for it. */
export function idOf(url: string): string {
  return createHash('sha256').update(url).digest('base64url');
}

export function documentOf({ url, title, text }: Page, order: number): Document {
  const stored = cleanText(text.slice(0, PAGE_TEXT_LENGTH_MAX));
  const inTitle = queryTerms(title).slice(0, ADDRESS_START - 1);
  const inAddress = queryTerms(addressText(url)).slice(0, BODY_START - 1 - ADDRESS_START);
  const inBody = queryTerms(stored);
  return {
    url,
    title,
    text: stored,
    title_words: [inTitle.join(' '), inAddress.join(' ')],
    body_words: inBody.join(' '),
    words: [...new Set([...inTitle, ...inAddress, ...inBody])].join(' '),
    body_length: coded(inBody.length),
    title_length: coded(inTitle.length),
    order,
  };
}

function coded(words: number): number {
  return LENGTHS[lengthCode(words)] ?? 0;
}
