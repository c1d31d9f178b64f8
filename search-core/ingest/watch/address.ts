/** An address of the watch, and what became of it. */
import type { Listed } from '../crawl/sitemap.js';
import type { Fingerprint } from '../dedupe/simhash.js';
import type { History } from './schedule.js';

/** What stands behind an address. */
export type AddressKind =
  | 'page'
  | 'sitemap'
  | 'feed'
  /** Common Crawl's list of crawls, a piece of its URL index, and one record of an archive. */
  | 'crawls'
  | 'captures'
  | 'record'
  /** A page out of a file; its address is the page's. */
  | 'archived';

export interface NewAddress {
  readonly url: string;
  readonly kind: AddressKind;
  readonly source: number;
  /** Links from the source's own address to here. */
  readonly depth: number;
  /** Redirects that led here. */
  readonly hops: number;
  readonly dueSeconds: number;
}

/** An address that a list names, ready to be taken up. */
export interface ListedAddress extends Listed {
  readonly kind: AddressKind;
}

/** What became of an address at the last look. */
export type Outcome = 'new' | 'indexed' | 'duplicate' | 'dropped' | 'read';

export interface Known extends Omit<NewAddress, 'dueSeconds'> {
  readonly host: number;
  /** Looks in a row that failed for a reason that may pass. */
  readonly tries: number;
  readonly outcome: Outcome;
  /** The page's address in the index, where it is there. */
  readonly page: string | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  /** When it was looked at last, 0 for never. */
  readonly checkedSeconds: number;
  readonly history: History;
}

/** What tells a page from others, see `dedupe/`. */
export interface Print {
  /** Of all its words. */
  readonly words: bigint;
  /** Of its title. */
  readonly title: number;
  /** A SimHash, where the text is long enough to have one. */
  readonly near: Fingerprint | undefined;
}

export interface Settlement {
  readonly outcome: Outcome;
  readonly reason: string | undefined;
  readonly page: string | undefined;
  readonly print: Print | undefined;
  readonly etag: string | undefined;
  readonly modified: string | undefined;
  readonly tries: number;
  readonly history: History;
  readonly checkedSeconds: number;
  /** Undefined: never by itself. */
  readonly dueSeconds: number | undefined;
}
